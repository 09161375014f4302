import type { RE2JS } from 're2js'
import type { Work } from './work.ts'

/** Reads between two looks at whether to stop. Of a large pattern one read may lead to thousands of steps. */
const LOOK_READS = 512

/**
 * A text that counts how often it is read, so that re2js, which has no way to be stopped, ends when the work is used up or
 * the caller has left: `charCodeAt` throws then.
 */
class CountedText extends String {
  readonly #text: string
  readonly #work: Work
  #left = LOOK_READS

  constructor(text: string, work: Work) {
    super(text)
    this.#text = text
    this.#work = work
  }

  override charCodeAt(at: number): number {
    if (--this.#left === 0) {
      this.#left = LOOK_READS
      this.#work.spend(LOOK_READS)
      this.#work.look()
    }
    return this.#text.charCodeAt(at)
  }
}

/** re2js takes an object that is a String by its tag. */
const countText = (text: string, work: Work): string => new CountedText(text, work) as unknown as string

/** Whether the pattern is anywhere in the text. Throws `TooMuchWork`. */
export function holdsPattern(re2: RE2JS, text: string, work: Work): boolean {
  work.spend(1 + (text.length >> 3))
  return re2.test(countText(text, work))
}

/** Finds matches in the text from a place on. `find` throws `TooMuchWork`. */
export function findsIn(re2: RE2JS, text: string, work: Work): ReturnType<RE2JS['matcher']> {
  work.spend(1)
  return re2.matcher(countText(text, work))
}
