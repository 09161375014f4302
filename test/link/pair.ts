import { Mux } from '#daemon-protocol/link.ts'
import { type Answers, type HeldLink, heldLinkOf } from '../../packages/mux/test/pair.ts'

export { type Answerer, HeldPipe } from '../../packages/mux/test/pair.ts'

/** Two ends of a link, connected by hand. */
export const heldLink = (answers?: Answers): HeldLink<Mux> =>
  heldLinkOf((pipe, options) => new Mux(pipe, options), answers)
