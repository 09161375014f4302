import { forQuestion, isUnspaced } from '../index/unspaced.ts'

/** A question as words: what comes before the last, the last, and its beginning where it may still be being typed. */
export interface Words {
  head: string
  last: string
  prefix: string | null
}

const LEAST_PREFIX = 3

export function wordsOf(question: string): Words {
  // Quotes, `-not` and `or` are for the database to read, and leave no last word to complete.
  if (/"|(^|\s)-\S|\sor\s/i.test(question)) return { head: '', last: forQuestion(question), prefix: null }
  const found = [...question.matchAll(/[\p{L}\p{M}\p{N}]+/gu)]
  const last = found.at(-1)
  if (last === undefined || isUnspaced(last[0])) return { head: '', last: forQuestion(question), prefix: null }
  const [word] = last
  return {
    head: forQuestion(question.slice(0, last.index)),
    last: word,
    prefix: word.length >= LEAST_PREFIX ? word.toLowerCase() : null,
  }
}
