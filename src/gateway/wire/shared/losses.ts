import type { Loss } from '../../model/canonical-request.ts'

/** The losses of a translation, without duplicates, in the order they occurred. */
export class Losses {
  readonly #names = new Set<Loss>()

  add(name: Loss): void {
    this.#names.add(name)
  }

  all(): Loss[] {
    return [...this.#names]
  }
}

/** False for values without an effect (null, false, zero, empty): omitting them is no loss. */
export const matters = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== 0 &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0) &&
  !(typeof value === 'object' && Object.keys(value).length === 0)

/** Recorded when an output limit was raised, whatever the client's field is called. */
export const LIMIT: Loss = 'max_output_tokens'
