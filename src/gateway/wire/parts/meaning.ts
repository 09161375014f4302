import { isObject, type Json, objectOf, parseJson } from '../../model/json.ts'
import { Repair } from './repair.ts'

/** The most levels of quotes that are removed. */
const MOST_QUOTES = 4

/** Whether these are arguments without a clear meaning, as `meaningOf` keeps them. `parameters`: the schema of the tool. */
export function isUnclear(given: Json, parameters: unknown): boolean {
  const [name, ...others] = Object.keys(given)
  if (name !== 'arguments' || others.length > 0 || isObject(given[name])) return false
  const properties = objectOf(parameters)['properties']
  return isObject(properties) && !Object.hasOwn(properties, name)
}

/**
 * The JSON object that a text means. Fences, tags, quotes and a list around a single object are removed; empty text, `null` and
 * `[]` are an empty object. A text without a clear meaning becomes the member `arguments` of an object.
 */
export function meaningOf(given: string, quotes = 0): string {
  const text = unwrapped(given)
  if (/^(?:null|none|undefined|\[\s*\])?$/i.test(text)) return '{}'
  const json = parseJson(text) === undefined ? repaired(text) : text
  const value = json === null ? undefined : parseJson(json)
  if (isObject(value)) return json!
  if (Array.isArray(value) && value.length === 1 && isObject(value[0])) return json!.trim().slice(1, -1)
  if (typeof value === 'string' && quotes < MOST_QUOTES) return meaningOf(value, quotes + 1)
  if (value === undefined && /^'\s*[{[][^]*'$/.test(text) && quotes < MOST_QUOTES)
    return meaningOf(text.slice(1, -1), quotes + 1)
  return value === undefined || quotes > 0
    ? JSON.stringify({ arguments: given.toWellFormed() })
    : `{"arguments":${json!}}`
}

/** The text of an object or a list as JSON; null: it is neither, or something of it had to be guessed. */
function repaired(text: string): string | null {
  if (!/^[{[]/.test(text)) return null
  const repair = new Repair(text, [])
  const json = repair.read('value')
  return repair.clear ? json : null
}

/** Without the fence or the tag around it; the end of either may be missing. */
function unwrapped(given: string): string {
  let text = given.trim()
  const [tag, name] = /^<([\w|:-]{1,40})>/.exec(text) ?? []
  if (tag !== undefined) {
    text = text.slice(tag.length).trim()
    if (text.endsWith(`</${name}>`)) text = text.slice(0, -name!.length - 3).trim()
  }
  const [fence] = /^```\w*/.exec(text) ?? []
  if (fence === undefined) return text
  const end = text.lastIndexOf('```')
  return text.slice(fence.length, end > 0 ? end : text.length).trim()
}
