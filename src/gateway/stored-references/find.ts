import type { Word } from '../json-scan/json-scan.ts'
import { type Body, mention } from '../model/body.ts'
import { isObject, type Json, textOf } from '../model/json.ts'
import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import type { ReferenceFields, ReferenceField } from './reference-fields.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'

/** Something in a request that names what lies at a vendor. */
export interface StoredReference {
  /** Where it stands, as `a.b.0`. */
  path: string
  field: string
  what: string
  value: unknown
}

/**
 * Data of the client, of its tools or of an earlier answer, whose names are the user's own: what stands under these names
 * means nothing to a vendor.
 */
const data = `parameters input_schema inputSchema schema json_schema input_examples arguments annotations citations metadata
  results outputs logit_bias headers extra_headers env trace client_metadata chat_template_kwargs guided_json
  structured_outputs structured_content structuredContent args`

export const dataNames: readonly string[] = data.split(/\s+/)

/** Strings under these names say where something lies. */
const addresses = 'url image_url file_url video_url fileUri file_uri uri'
/** Buckets, and files of Gemini's account (ai.google.dev, Files API), which are read with the key of the call. */
const isAtVendor = (address: string): boolean =>
  /^(?:gs|s3):\/\//i.test(address) ||
  /^https?:\/\/generativelanguage\.googleapis\.com\/(?:[^?#]*\/)?files\//i.test(address)

/** The thing that a field may stand for. */
type Rule = 'data' | 'address' | readonly ReferenceField[]

/** All in one table: each field of a request is looked up once, and most are in no row. */
function rulesOf(judged: readonly ReferenceFields[]): ReadonlyMap<string, Rule> {
  const rules = new Map<string, Rule>()
  for (const { names } of judged)
    for (const field in names) rules.set(field, [...((rules.get(field) as ReferenceField[]) ?? []), names[field]!])
  for (const field of addresses.split(' ')) rules.set(field, 'address')
  for (const field of dataNames) rules.set(field, 'data')
  return rules
}

/** By the shape of a request: a chat completion of OpenAI's may be meant for any of those that take them. */
const rules = {
  // Containers and skills are not the same to Anthropic's clients and OpenAI's; both are looked for where either may stand.
  messages: rulesOf([anthropic, gemini, openrouter, openai]),
  others: rulesOf([gemini, openrouter, openai]),
}

/** Names by which a request may name something stored, or by which an item shows that it is a reference. */
export const referenceNames: readonly string[] = [
  ...[...rules.messages, ...rules.others].flatMap(([field, rule]) => (rule === 'data' ? [] : [field])),
  'type',
  'id',
  'role',
  'result',
]

/** Without these words in it a request names nothing that lies at a vendor. */
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

/** Where an object stands: at the top, in the list `input` there, in a list `content` anywhere, or elsewhere. */
type Place = 'top' | 'item' | 'block' | 'elsewhere'

interface Search {
  rules: ReadonlyMap<string, Rule>
  /** The first thing that is named by an address. */
  address: StoredReference | null
}

interface Found {
  named: StoredReference | null
  addressed: StoredReference | null
}

/** A request is looked through once, however often it is asked about. */
const known = new WeakMap<Json, Found>()

function foundIn(json: Json): Found {
  const before = known.get(json)
  if (before !== undefined) return before
  const isMessages = Array.isArray(json['messages']) && !Array.isArray(json['input'])
  const search: Search = { rules: isMessages ? rules.messages : rules.others, address: null }
  const found = { named: look(json, search, 'top'), addressed: search.address }
  known.set(json, found)
  return found
}

/** The first thing that a request names of what lies at a vendor; null: it holds all that it needs. */
export const storedReferenceIn = (json: Json): StoredReference | null => foundIn(json).named

/** The first thing that is named by an address which only the vendor's own key opens, where nothing is named otherwise. */
export const addressReferenceIn = (json: Json): StoredReference | null => foundIn(json).addressed

/** The same of a body, which is looked through only where it may name something; `address`: by an address too. */
export function storedReferenceInBody(body: Body, address: boolean): StoredReference | null {
  const subjects = mention.kept | (address ? mention.addressed : 0) | (body.has('input') ? mention.id : 0)
  if (!body.mentions(subjects)) return null
  const { named, addressed } = foundIn(body.json)
  return named ?? (address ? addressed : null)
}

/** The path is put together on the way back, for most requests name nothing. */
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
    // Arguments of a call; at the top it is what the model is asked.
    if (typeof value !== 'object' || (field === 'input' && place !== 'top')) continue
    const address = search.address
    const found = inside(value, search, placeIn(field, place))
    if (search.address !== address) within(field, search.address!)
    if (found !== null) return within(field, found)
  }
  return null
}

function inside(value: object, search: Search, place: Place): StoredReference | null {
  if (!Array.isArray(value)) return isObject(value) ? look(value, search, 'elsewhere') : null
  for (let i = 0; i < value.length; i++) {
    const one: unknown = value[i]
    if (typeof one !== 'object' || one === null) continue
    const address = search.address
    const found = Array.isArray(one) ? inside(one, search, 'elsewhere') : look(one as Json, search, place)
    if (search.address !== address) within(String(i), search.address!)
    if (found !== null) return within(String(i), found)
  }
  return null
}

function within(name: string, found: StoredReference): StoredReference {
  found.path = found.path === '' ? name : `${name}.${found.path}`
  return found
}

const placeIn = (field: string, place: Place): Place =>
  field === 'content' ? 'block' : field === 'input' && place === 'top' ? 'item' : 'elsewhere'

/** An echo of what the vendor's own tools answered. Elsewhere a vendor reads the field `type` as something else, or not at all. */
const isEcho = (type: string): boolean =>
  type.endsWith('_tool_result') && type !== 'tool_result' && type !== 'mcp_tool_result'

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** Items of a response that stand for what is stored: a reference, nothing but an id, and a picture by its call alone. */
function itemIn({ type, id, role, result }: Json): StoredReference | null {
  if (typeof id !== 'string') return null
  const isReference = type === 'item_reference' || (textOf(type) === '' && role === undefined)
  const isPicture = type === 'image_generation_call' && (result ?? null) === null
  return isReference || isPicture ? { path: '', field: 'item_reference', what: 'an item', value: id } : null
}
