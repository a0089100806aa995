// What the page says, in English and Chinese. It never blames the buyer.

const EN = {
  language: '中文',
  loading: 'One moment …',
  buy: 'Buy now',
  sending: 'Placing your order …',
  again: 'Buy again',
  bought: 'You have one',
  'status.loading': '',
  'status.sign_in': 'Please sign in to buy: open this page by the link that your shop gave you.',
  'status.scheduled': 'The sale has not started yet. This page follows it by itself.',
  'status.open': 'The sale is open.',
  'status.paused': 'The sale takes a short break. This page follows it by itself.',
  'status.sold_out': 'Sold out for now. Units that others give back appear here.',
  'status.ended': 'The sale is over. Thank you for coming.',
  'status.unknown': 'There is no such sale.',
  'status.away': 'The shop cannot be reached. This page keeps trying.',
  'status.sending': 'Your order is on its way. Please keep this page open.',
  'status.waiting': 'The sale is very busy. Trying again in {s} s; you keep your place.',
  'status.placed': 'Done: the order is yours.',
  'status.already_bought': 'You already have an order in this sale.',
  'status.refused': 'This order cannot be placed ({code}).',
  'status.outcome_unknown':
    'Nobody can tell yet what became of your order. Press the button: it is never placed twice.',
  'band.many': 'in stock',
  'band.few': 'only a few left',
  'band.none': 'none left',
  starts: 'Starts in {time}',
  ends: 'Ends in {time}',
  order: 'Your order',
  number: 'Number',
  amount: 'Amount',
  state: 'Status',
  left: 'Time to pay',
  'order.queued': 'accepted, being recorded',
  'order.pending_payment': 'waiting for payment',
  'order.paid': 'paid',
  'order.cancelled': 'cancelled',
  'order.failed': 'could not be completed; nothing was charged',
  'order.refund_due': 'the payment is being returned',
  'order.refunded': 'the payment was returned',
  pay: 'Pay (simulated)',
  cancel: 'Cancel the order',
  trouble: 'That did not work ({code}). Please try again in a moment.',
};

/** A sentence's name. */
export type Word = keyof typeof EN;

const ZH: Record<Word, string> = {
  language: 'English',
  loading: '请稍候…',
  buy: '立即抢购',
  sending: '正在提交订单…',
  again: '再次购买',
  bought: '您已购得',
  'status.loading': '',
  'status.sign_in': '请先登录：通过商店提供的链接打开本页。',
  'status.scheduled': '尚未开始，本页会自动更新。',
  'status.open': '抢购进行中。',
  'status.paused': '活动暂停片刻，本页会自动更新。',
  'status.sold_out': '暂时售罄。若有人取消，余量会显示在这里。',
  'status.ended': '活动已结束，感谢参与。',
  'status.unknown': '没有这个活动。',
  'status.away': '暂时无法连接，本页会继续尝试。',
  'status.sending': '订单正在提交，请保持页面打开。',
  'status.waiting': '活动非常火爆，{s} 秒后自动重试，您的位置已保留。',
  'status.placed': '下单成功。',
  'status.already_bought': '您在本次活动中已有订单。',
  'status.refused': '该订单无法提交（{code}）。',
  'status.outcome_unknown': '订单结果尚不确定，请再点一次按钮，绝不会重复下单。',
  'band.many': '有货',
  'band.few': '所剩不多',
  'band.none': '已无余量',
  starts: '{time} 后开始',
  ends: '{time} 后结束',
  order: '您的订单',
  number: '编号',
  amount: '金额',
  state: '状态',
  left: '剩余付款时间',
  'order.queued': '已接受，正在登记',
  'order.pending_payment': '等待付款',
  'order.paid': '已付款',
  'order.cancelled': '已取消',
  'order.failed': '未能完成，未收取任何费用',
  'order.refund_due': '正在退款',
  'order.refunded': '已退款',
  pay: '付款（模拟）',
  cancel: '取消订单',
  trouble: '操作未成功（{code}），请稍后再试。',
};

/** The languages of the page. */
export type Language = 'en' | 'zh';

/** Chinese for whoever reads Chinese, English for all others. */
export function preferred(languages: readonly string[]): Language {
  const known = languages.find((tag) => /^(zh|en)\b/i.test(tag));
  return known?.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

/** A sentence with its values filled in. */
export function say(language: Language, word: Word, values: Record<string, string | number> = {}): string {
  const text = (language === 'zh' ? ZH : EN)[word];
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}

/** Whether there is such a sentence: a server may know states that this page does not. */
export function isWord(word: string): word is Word {
  return word in EN;
}

/** `1:02:03`, or `2:03` below an hour; rounded up, so that zero is only shown when it is over. */
export function clock(ms: number): string {
  const seconds = Math.ceil(Math.max(0, ms) / 1000);
  const two = (n: number) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** An amount in the currency's smallest unit, as people write it. */
export function money(language: Language, amount: number, currency: string): string {
  const format = new Intl.NumberFormat(language, { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(amount / 10 ** digits);
}
