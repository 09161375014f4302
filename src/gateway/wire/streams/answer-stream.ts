import type { Chunk } from '../../model/canonical-request.ts'
import type { Json } from '../../model/json.ts'

/** Each method returns text to send, possibly empty. */
export interface AnswerStream {
  /** Absent for shapes without named items. */
  readonly output?: readonly Json[]
  write(chunk: Chunk): string
  end(): string
  fail(failure: unknown): string
}
