// Buying in a Sluice sale from any page: `new Buyer({ sku, authorization }).submit()`.

export { Buyer, type Options, type Order, type Outcome, type Progress } from './buyer.ts';
export { ServerClock, type World } from './clock.ts';
export type { Reply } from './reply.ts';
export type { Store } from './store.ts';
