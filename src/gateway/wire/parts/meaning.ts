import { isObject, type Json, objectOf, parseJson } from '../../model/json.ts'
import { Repair } from './repair.ts'

const MAX_QUOTES = 4

/** `parameters` is the tool's schema. */
export function isUnclear(args: Json, parameters: unknown): boolean {
  const [name, ...others] = Object.keys(args)
  if (name !== 'arguments' || others.length > 0 || isObject(args[name])) return false
  const properties = objectOf(parameters)['properties']
  return isObject(properties) && !Object.hasOwn(properties, name)
}

/**
 * Fences, tags, quotes, and a list around a single object are removed. Empty text, `null`, and `[]` become an empty
 * object. Text without a clear meaning becomes the member `arguments` of an object.
 */
export function meaningOf(source: string, quotes = 0): string {
  const text = unwrap(source)
  if (/^(?:null|none|undefined|\[\s*\])?$/i.test(text)) return '{}'
  const json = parseJson(text) === undefined ? tryRepair(text) : text
  const value = json === null ? undefined : parseJson(json)
  if (isObject(value)) return json!
  if (Array.isArray(value) && value.length === 1 && isObject(value[0])) return json!.trim().slice(1, -1)
  if (typeof value === 'string' && quotes < MAX_QUOTES) return meaningOf(value, quotes + 1)
  if (value === undefined && /^'\s*[{[][^]*'$/.test(text) && quotes < MAX_QUOTES)
    return meaningOf(text.slice(1, -1), quotes + 1)
  return value === undefined || quotes > 0
    ? JSON.stringify({ arguments: source.toWellFormed() })
    : `{"arguments":${json!}}`
}

/** Null if the text is neither object nor list, or if part of it had to be guessed. */
function tryRepair(text: string): string | null {
  if (!/^[{[]/.test(text)) return null
  const repair = new Repair(text, [])
  const json = repair.read('value')
  return repair.clear ? json : null
}

/** The end of a fence or tag may be missing. */
function unwrap(source: string): string {
  let text = source.trim()
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
