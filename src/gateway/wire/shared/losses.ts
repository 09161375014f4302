import type { Loss } from '../../model/canonical-request.ts'

/** The losses of a translation, each name once, in the order it was met. */
export class Losses {
  readonly #names = new Set<Loss>()

  add(name: Loss): void {
    this.#names.add(name)
  }

  all(): Loss[] {
    return [...this.#names]
  }
}

/**
 * Fields that would have had no effect anyway are no loss: null, false, zero, and what is empty.
 */
export const matters = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== 0 &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0) &&
  !(typeof value === 'object' && Object.keys(value).length === 0)

/** A limit of the output that was raised, whatever the client calls it. */
export const LIMIT: Loss = 'max_output_tokens'
