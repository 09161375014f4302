import type { Chunk } from '../../model/canonical-request.ts'
import type { Json } from '../../model/json.ts'

/** Writes chunks as a surface's stream. Each method returns text to send, possibly empty. */
export interface AnswerStream {
  /** The items of the finished answer; absent for shapes without named items. */
  readonly output?: readonly Json[]
  write(chunk: Chunk): string
  end(): string
  fail(failure: unknown): string
}
