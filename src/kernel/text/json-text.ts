import { refuse } from '../errors.ts'

/** Refuses a body that `JSON.parse` threw at, in its words: they say where it stopped. */
export const refuseJson = (error: unknown): never =>
  refuse('malformed_json', {
    message: `The body is not well-formed JSON: ${error instanceof Error ? error.message : ''}`.slice(0, 200),
  })
