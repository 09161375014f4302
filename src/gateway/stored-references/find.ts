import type { Word } from '#packages/json-scan/json-scan.ts'
import { type Body, mention } from '../model/body.ts'
import { isObject, type Json, textOf } from '../model/json.ts'
import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import type { ReferenceFields, ReferenceField } from './reference-fields.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'

export interface StoredReference {
  /** Its position, as `a.b.0`. */
  path: string
  field: string
  what: string
  value: unknown
}

/**
 * Names whose contents are data of the client, its tools, or an earlier answer: a vendor doesn't interpret names
 * inside.
 */
const data = `parameters input_schema inputSchema schema json_schema input_examples arguments annotations citations metadata
  results outputs logit_bias headers extra_headers env trace client_metadata chat_template_kwargs guided_json
  structured_outputs structured_content structuredContent args`

export const dataNames: readonly string[] = data.split(/\s+/)

const addresses = 'url image_url file_url video_url fileUri file_uri uri'
/** Buckets, and files of Gemini's account (ai.google.dev, Files API), which are read with the call's key. */
const isAtVendor = (address: string): boolean =>
  /^(?:gs|s3):\/\//i.test(address) ||
  /^https?:\/\/generativelanguage\.googleapis\.com\/(?:[^?#]*\/)?files\//i.test(address)

type Rule = 'data' | 'address' | readonly ReferenceField[]

/** One table, so that each field of a request takes a single lookup; most match no row. */
function rulesOf(tables: readonly ReferenceFields[]): ReadonlyMap<string, Rule> {
  const rules = new Map<string, Rule>()
  for (const { names } of tables)
    for (const field in names) rules.set(field, [...((rules.get(field) as ReferenceField[]) ?? []), names[field]!])
  for (const field of addresses.split(' ')) rules.set(field, 'address')
  for (const field of dataNames) rules.set(field, 'data')
  return rules
}

/** By the shape of a request. OpenAI Chat Completions may be meant for any provider that accepts them. */
const rules = {
  // Containers and skills differ between Anthropic's and OpenAI's clients; both are checked where either is possible.
  messages: rulesOf([anthropic, gemini, openrouter, openai]),
  others: rulesOf([gemini, openrouter, openai]),
}

/** Names that may refer to something stored, or identify an item as a reference. */
export const referenceNames: readonly string[] = [
  ...[...rules.messages, ...rules.others].flatMap(([field, rule]) => (rule === 'data' ? [] : [field])),
  'type',
  'id',
  'role',
  'result',
]

export const referenceWords: Readonly<Record<string, Word>> = {
  ...Object.fromEntries(
    [...rules.messages, ...rules.others].map(([field, rule]) => [
      field,
      rule === 'data' ? { data: true } : { name: rule === 'address' ? mention.addressed : mention.kept },
    ]),
  ),
  input: { data: 'within' },
  id: { name: mention.id },
}

/** Where an object is: at the top level, in the top-level list `input`, in a list `content` anywhere, or elsewhere. */
type Place = 'top' | 'item' | 'block' | 'elsewhere'

interface Search {
  rules: ReadonlyMap<string, Rule>
  address: StoredReference | null
}

interface References {
  named: StoredReference | null
  addressed: StoredReference | null
}

/** Caches the search: each request is searched once. */
const referencesByRequest = new WeakMap<Json, References>()

function foundIn(json: Json): References {
  const before = referencesByRequest.get(json)
  if (before !== undefined) return before
  const isMessages = Array.isArray(json['messages']) && !Array.isArray(json['input'])
  const search: Search = { rules: isMessages ? rules.messages : rules.others, address: null }
  const references = { named: look(json, search, 'top'), addressed: search.address }
  referencesByRequest.set(json, references)
  return references
}

export const storedReferenceIn = (json: Json): StoredReference | null => foundIn(json).named

/** Only without other references. */
export const addressReferenceIn = (json: Json): StoredReference | null => foundIn(json).addressed

/** A body is only searched if it may contain a reference; `address` includes addresses. */
export function storedReferenceInBody(body: Body, address: boolean): StoredReference | null {
  const subjects = mention.kept | (address ? mention.addressed : 0) | (body.has('input') ? mention.id : 0)
  if (!body.mentions(subjects)) return null
  const { named, addressed } = foundIn(body.json)
  return named ?? (address ? addressed : null)
}

/** The path is built on the way back, because most requests have no references. */
function look(around: Json, search: Search, place: Place): StoredReference | null {
  if (place === 'block' && isEcho(textOf(around['type']))) return null
  if (place === 'item') {
    const item = itemIn(around)
    if (item !== null) return item
  }
  for (const field in around) {
    const value = around[field]
    const rule = search.rules.get(field)
    if (rule === 'data' || value === null || value === undefined) continue
    if (rule === 'address') {
      if (typeof value === 'string' && isAtVendor(value))
        search.address ??= { path: field, field, what: 'a file', value }
    } else if (rule !== undefined && value !== '') {
      const naming = rule.find(({ when }) => when?.(value, around) ?? !isEmpty(value))
      if (naming !== undefined) return { path: field, field, what: naming.what, value }
    }
    if (typeof value !== 'object' || (field === 'input' && place !== 'top')) continue
    const address = search.address
    const reference = inside(value, search, placeIn(field, place))
    if (search.address !== address) within(field, search.address!)
    if (reference !== null) return within(field, reference)
  }
  return null
}

function inside(value: object, search: Search, place: Place): StoredReference | null {
  if (!Array.isArray(value)) return isObject(value) ? look(value, search, 'elsewhere') : null
  for (let i = 0; i < value.length; i++) {
    const one: unknown = value[i]
    if (typeof one !== 'object' || one === null) continue
    const address = search.address
    const reference = Array.isArray(one) ? inside(one, search, 'elsewhere') : look(one as Json, search, place)
    if (search.address !== address) within(String(i), search.address!)
    if (reference !== null) return within(String(i), reference)
  }
  return null
}

function within(name: string, reference: StoredReference): StoredReference {
  reference.path = reference.path === '' ? name : `${name}.${reference.path}`
  return reference
}

const placeIn = (field: string, place: Place): Place =>
  field === 'content' ? 'block' : field === 'input' && place === 'top' ? 'item' : 'elsewhere'

/** Elsewhere, vendors interpret the field `type` differently or not at all. */
const isEcho = (type: string): boolean =>
  type.endsWith('_tool_result') && type !== 'tool_result' && type !== 'mcp_tool_result'

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** A reference, a bare ID, or an image given only by its call. */
function itemIn({ type, id, role, result }: Json): StoredReference | null {
  if (typeof id !== 'string') return null
  const isReference = type === 'item_reference' || (textOf(type) === '' && role === undefined)
  const isPicture = type === 'image_generation_call' && (result ?? null) === null
  return isReference || isPicture ? { path: '', field: 'item_reference', what: 'an item', value: id } : null
}
