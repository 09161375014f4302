import type { Loss } from '../../model/canonical-request.ts'

export class Losses {
  readonly #names = new Set<Loss>()

  add(name: Loss): void {
    this.#names.add(name)
  }

  all(): Loss[] {
    return [...this.#names]
  }
}

/** Omitting null, false, zero, and empty values loses nothing. */
export const matters = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== 0 &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0) &&
  !(typeof value === 'object' && Object.keys(value).length === 0)

/** The client's field may have another name. */
export const LIMIT: Loss = 'max_output_tokens'
