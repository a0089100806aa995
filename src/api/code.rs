//! Every refusal's stable code, with its status and its titles. Clients switch on the code, people read the title.

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $status:literal $code:literal $en:literal $zh:literal)*) => {
        /// Why a request was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])* $name,)*
        }

        impl Code {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// The code as it stands in the answer.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What a person reads.
            #[must_use]
            pub const fn title(self, language: Language) -> &'static str {
                match language {
                    Language::English => match self { $(Self::$name => $en,)* },
                    Language::Chinese => match self { $(Self::$name => $zh,)* },
                }
            }
        }
    };
}

/// The language of a title.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// The default.
    #[default]
    English,
    /// Chinese.
    Chinese,
}

impl Language {
    /// The first of the two that `Accept-Language` names; quality values are ignored.
    #[must_use]
    pub fn of(accept_language: Option<&str>) -> Self {
        let ranges = accept_language.unwrap_or_default().split(',');
        for range in ranges.map(|r| r.trim_start().get(..2).unwrap_or_default()) {
            if range.eq_ignore_ascii_case("zh") {
                return Self::Chinese;
            }
            if range.eq_ignore_ascii_case("en") {
                return Self::English;
            }
        }
        Self::English
    }
}

codes! {
    /// The path holds an encoded slash, a dot segment, a backslash or a NUL.
    InvalidPath = 400 "invalid_path" "This address is not valid." "地址无效。"
    /// The SKU in the path is no SKU.
    InvalidSku = 400 "invalid_sku" "This is not a valid product number." "商品编号无效。"
    /// The body is not the JSON that the route takes.
    InvalidBody = 400 "invalid_body" "The request body could not be read." "请求内容无法识别。"
    /// The quantity is not a whole number in range.
    InvalidQuantity = 400 "invalid_quantity" "The quantity must be a whole number within the allowed range." "数量必须是允许范围内的整数。"
    /// `Idempotency-Key` is not 1 to 255 visible ASCII characters.
    InvalidIdempotencyKey = 400 "invalid_idempotency_key" "The idempotency key is not valid." "幂等键无效。"
    /// The route is known by the client's key, and none was sent.
    IdempotencyKeyMissing = 400 "idempotency_key_missing" "An idempotency key is needed." "缺少幂等键。"
    /// The platform gave no client address, and the gate is configured to refuse.
    ClientIpMissing = 400 "client_ip_missing" "The client address is not known." "无法确定客户端地址。"
    /// The request costs more than the bucket can ever hold.
    NeverAdmissible = 400 "never_admissible" "This request is larger than can ever be accepted." "请求超出可接受的上限。"
    /// No order token was sent.
    TokenMissing = 400 "token_missing" "An order token is needed." "缺少下单令牌。"
    /// A challenge has to be passed first.
    ChallengeRequired = 400 "challenge_required" "Please pass the check first." "请先完成验证。"
    /// No user JWT was sent.
    IdentityMissing = 401 "identity_missing" "Please sign in." "请先登录。"
    /// The user JWT is not valid.
    IdentityInvalid = 401 "identity_invalid" "Please sign in again." "登录信息无效，请重新登录。"
    /// The user JWT has expired.
    IdentityExpired = 401 "identity_expired" "Your sign-in has expired. Please sign in again." "登录已过期，请重新登录。"
    /// The user JWT was revoked.
    IdentityRevoked = 401 "identity_revoked" "Please sign in again." "登录已失效，请重新登录。"
    /// The order token was not made by this gate, or was altered.
    TokenInvalid = 403 "token_invalid" "The order token is not valid." "下单令牌无效。"
    /// The order token is over.
    TokenExpired = 403 "token_expired" "The order token has expired." "下单令牌已过期。"
    /// The order token belongs to another user or sale.
    TokenNotYours = 403 "token_not_yours" "The order token was issued for someone or something else." "下单令牌不属于当前用户或商品。"
    /// The sale has not begun.
    SaleNotStarted = 403 "sale_not_started" "The sale has not started yet." "活动尚未开始。"
    /// The sale is over.
    SaleEnded = 403 "sale_ended" "The sale has ended." "活动已结束。"
    /// The address or the user is on the list of those kept out.
    Denied = 403 "denied" "This request cannot be accepted." "无法受理该请求。"
    /// The answer to the challenge does not count, or no longer.
    ChallengeFailed = 403 "challenge_failed" "The check was not passed. Please try it again." "验证未通过，请重新验证。"
    /// The request did not come through the gate.
    AssertionInvalid = 403 "assertion_invalid" "This address is reached through the gate only." "只能通过网关访问。"
    /// No route.
    NotFound = 404 "not_found" "There is nothing here." "页面不存在。"
    /// No such sale.
    SaleUnknown = 404 "sale_unknown" "There is no such sale." "活动不存在。"
    /// No such order, or not this user's.
    OrderUnknown = 404 "order_unknown" "There is no such order." "订单不存在。"
    /// No such product.
    ProductUnknown = 404 "product_unknown" "There is no such product." "商品不存在。"
    /// The path is known, the method is not.
    MethodNotAllowed = 405 "method_not_allowed" "This method is not allowed here." "不支持的请求方法。"
    /// The same operation is under way.
    InProgress = 409 "in_progress" "This order is already being placed." "订单正在处理中。"
    /// The operation began, its outcome is not known, and it cannot be repeated.
    OutcomeUnknown = 409 "outcome_unknown" "The outcome is not known yet. Please look at your orders." "结果尚未确定，请查看您的订单。"
    /// The order token was used.
    TokenUsed = 409 "token_used" "The order token has been used." "下单令牌已使用。"
    /// Nothing is left.
    SoldOut = 409 "sold_out" "Sold out." "已售罄。"
    /// The user holds all that one user may buy.
    AlreadyBought = 409 "already_bought" "You have already bought this." "您已购买过该商品。"
    /// The body is larger than the route takes.
    BodyTooLarge = 413 "body_too_large" "The request body is too large." "请求内容过大。"
    /// The body is not of the type that the route takes.
    UnsupportedMediaType = 415 "unsupported_media_type" "The request body must be JSON." "请求内容必须为 JSON。"
    /// The operation's key was used with another body.
    IdempotencyMismatch = 422 "idempotency_mismatch" "This order was already sent with other contents." "相同请求的内容不一致。"
    /// A bucket is empty.
    TooManyRequests = 429 "too_many_requests" "The sale is very busy. Please try again shortly." "活动火爆，请稍后再试。"
    /// The edge lacks a setting, or has a bad one.
    Misconfigured = 500 "misconfigured" "The service is not set up correctly." "服务配置有误。"
    /// A fault of our own.
    Internal = 500 "internal" "Something went wrong on our side." "服务内部错误。"
    /// The origin could not be reached, or said nothing of use.
    OriginUnreachable = 502 "origin_unreachable" "The shop could not be reached. Please try again." "商城暂时无法连接，请重试。"
    /// The sale is paused.
    SalePaused = 503 "sale_paused" "The sale is paused. Please try again shortly." "活动暂停，请稍后再试。"
    /// The sale is not ready to sell.
    SaleUnavailable = 503 "sale_unavailable" "The sale is not ready. Please try again shortly." "活动尚未就绪，请稍后再试。"
    /// As many requests as one instance of the gate lets through are on their way to the origin.
    Busy = 503 "busy" "The sale is very busy. Please try again shortly." "活动火爆，请稍后再试。"
    /// The service that judges challenges is away.
    ChallengeUnavailable = 503 "challenge_unavailable" "The check cannot be made just now. Please try again shortly." "暂时无法完成验证，请稍后再试。"
    /// The keys that user JWTs are checked by could not be fetched.
    IdentityUnavailable = 503 "identity_unavailable" "Your sign-in cannot be checked just now. Please try again shortly." "暂时无法验证登录信息，请稍后再试。"
    /// Redis is away, and the route is closed without it.
    Degraded = 503 "degraded" "The sale is very busy. Please try again shortly." "系统繁忙，请稍后再试。"
    /// The origin was too slow, or refused to begin so late.
    OriginTimeout = 504 "origin_timeout" "The shop took too long to answer. Please try again." "商城响应超时，请重试。"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_statuses_are_errors() {
        let mut codes: Vec<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|c| (400..600).contains(&c.status())));
    }

    #[test]
    fn the_first_known_language_wins() {
        assert_eq!(Language::of(None), Language::English);
        assert_eq!(Language::of(Some("zh-CN,zh;q=0.9,en;q=0.8")), Language::Chinese);
        assert_eq!(Language::of(Some("fr, EN-gb, zh")), Language::English);
        assert_eq!(Language::of(Some("é")), Language::English);
    }
}
