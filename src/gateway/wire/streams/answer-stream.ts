import type { Chunk } from '../../model/canonical-request.ts'
import type { Json } from '../../model/json.ts'

/** Writes chunks as a surface's stream. Each call answers text to send, possibly empty. */
export interface AnswerStream {
  /** The items that the answer was made of, once it is over; absent: of nothing that has a name. */
  readonly output?: readonly Json[]
  write(chunk: Chunk): string
  end(): string
  fail(failure: unknown): string
}
