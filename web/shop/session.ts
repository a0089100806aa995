// Who buys: the JWT of the shop's own sign-in, handed over in the fragment of the address, which no server sees.

const NAME = 'shop:jwt';

/** Takes the JWT out of the address, or out of this tab's memory; empty when there is none. */
export function signIn(location: Location, history: History, store: Storage): string {
  const handed = new URLSearchParams(location.hash.slice(1)).get('sign-in');
  if (handed) {
    store.setItem(NAME, handed);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return handed ?? store.getItem(NAME) ?? '';
}
