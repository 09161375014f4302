import { RE2JS } from 're2js'
import { faultOf } from './fault.ts'
import { InvalidPattern } from './pattern.ts'
import { MAX_STEPS, stepsOf } from './steps.ts'

export interface LineSpec {
  line: string
  case: 'sensitive' | 'insensitive' | 'smart'
}

/** Maximum states of a per-line pattern, which determine its time. */
const MAX_STATES = 2_000

export function compileLine({ line, case: how }: LineSpec): RE2JS {
  const folds = how === 'insensitive' || (how === 'smart' && !/\p{Lu}/u.test(line))
  if (stepsOf(line) > MAX_STEPS) throw invalid('it has too many repetitions, or classes that are too wide')
  let regex: RE2JS
  try {
    regex = RE2JS.compile(line, folds ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    throw invalid(faultOf(error))
  }
  if (regex.programSize() <= MAX_STATES) return regex
  throw invalid(`its repetitions expand to ${regex.programSize()} states, and the limit is ${MAX_STATES}`)
}

const invalid = (reason: string): InvalidPattern =>
  new InvalidPattern(`The pattern isn’t a valid regular expression (RE2 syntax): ${reason}.`)
