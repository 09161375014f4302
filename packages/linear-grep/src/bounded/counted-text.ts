import type { RE2JS } from 're2js'
import type { Work } from './work.ts'

/** Reads between two limit checks. With a large pattern, one read can lead to thousands of steps. */
const LOOK_READS = 512

/**
 * Text that counts its reads. re2js can't be stopped, so `charCodeAt` throws when the work is used up or the caller
 * left.
 */
class CountedText extends String {
  readonly #text: string
  readonly #work: Work
  #readsLeft = LOOK_READS

  constructor(text: string, work: Work) {
    super(text)
    this.#text = text
    this.#work = work
  }

  override charCodeAt(at: number): number {
    if (--this.#readsLeft === 0) {
      this.#readsLeft = LOOK_READS
      this.#work.spend(LOOK_READS)
      this.#work.look()
    }
    return this.#text.charCodeAt(at)
  }
}

/** re2js recognizes strings by their `String` tag. */
const countText = (text: string, work: Work): string => new CountedText(text, work) as unknown as string

export function holdsPattern(re2: RE2JS, text: string, work: Work): boolean {
  work.spend(1 + (text.length >> 3))
  return re2.test(countText(text, work))
}

/** Finds matches from an offset. `find` throws `TooMuchWork`. */
export function findsIn(re2: RE2JS, text: string, work: Work): ReturnType<RE2JS['matcher']> {
  work.spend(1)
  return re2.matcher(countText(text, work))
}
