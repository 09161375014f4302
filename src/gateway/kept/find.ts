import { isObject, type Json, textOf } from '../shapes/json.ts'
import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import type { Naming } from './judged.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'

/** Something in a request that names what lies at a vendor. */
export interface Kept {
  /** Where it stands, as `a.b.0`. */
  path: string
  field: string
  what: string
  value: unknown
}

/** By the shape of a request: a chat completion of OpenAI's may be meant for any of those that take them. */
const names: Readonly<Record<'messages' | 'others', ReadonlyMap<string, Naming>>> = {
  messages: new Map(Object.entries(anthropic.names)),
  others: new Map([gemini, openrouter, openai].flatMap((judged) => Object.entries(judged.names))),
}

/** Data of the client, of its tools or of an earlier answer: what stands under these names means nothing to a vendor. */
const data: ReadonlySet<string> = new Set(
  `parameters input_schema inputSchema schema json_schema input_examples arguments annotations citations metadata results
  outputs logit_bias`.split(/\s+/),
)

/** Strings under these names say where something lies. */
const addresses: ReadonlySet<string> = new Set([
  'url',
  'image_url',
  'file_url',
  'video_url',
  'fileUri',
  'file_uri',
  'uri',
])
/** Buckets, and files of Gemini's account (ai.google.dev, Files API), which are read with the key of the call. */
const isAtVendor = (address: unknown): boolean =>
  typeof address === 'string' &&
  (/^(?:gs|s3):\/\//i.test(address) ||
    /^https?:\/\/generativelanguage\.googleapis\.com\/(?:[^?#]*\/)?files\//i.test(address))

/** The first thing that a request names of what lies at a vendor; null: it holds all that it needs. */
export function keptIn(json: Json): Kept | null {
  const isMessages = Array.isArray(json['messages']) && !Array.isArray(json['input'])
  // What Anthropic's clients and OpenAI's call a container or a skill differs; both are looked for where either may stand.
  return look(json, '', isMessages ? [names.messages, names.others] : [names.others])
}

/** The first thing that is named by an address which only the vendor's own key opens. */
export const addressIn = (json: Json): Kept | null => look(json, '', [])

function look(around: Json, path: string, known: readonly ReadonlyMap<string, Naming>[]): Kept | null {
  const type = textOf(around['type'])
  // An echo of what the vendor's own tools answered.
  if (type.endsWith('_tool_result') && type !== 'tool_result' && type !== 'mcp_tool_result') return null
  if (known.length > 0) {
    const item = itemIn(around, type, path)
    if (item !== null) return item
  }
  for (const field in around) {
    const value = around[field]
    if (value === null || value === undefined || value === '' || data.has(field)) continue
    // Arguments of a call; at the top it is what the model is asked.
    if (field === 'input' && path !== '') continue
    const at = path === '' ? field : `${path}.${field}`
    for (const map of known) {
      const naming = map.get(field)
      if (naming !== undefined && (naming.when?.(value, around) ?? !isEmpty(value)))
        return { path: at, field, what: naming.what, value }
    }
    if (known.length === 0 && addresses.has(field) && isAtVendor(value))
      return { path: at, field, what: 'a file', value }
    const found = inside(value, at, known)
    if (found !== null) return found
  }
  return null
}

function inside(value: unknown, path: string, known: readonly ReadonlyMap<string, Naming>[]): Kept | null {
  if (isObject(value)) return look(value, path, known)
  if (!Array.isArray(value)) return null
  for (const [i, one] of value.entries()) {
    // Tokens and texts by the thousand name nothing.
    if (typeof one !== 'object') return null
    const found = inside(one, `${path}.${i}`, known)
    if (found !== null) return found
  }
  return null
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** Items of a response that stand for what is stored: a reference, nothing but an id, and a picture by its call alone. */
function itemIn(item: Json, type: string, path: string): Kept | null {
  const inInput = /^input\.\d+$/.test(path)
  if (!inInput || typeof item['id'] !== 'string') return null
  const isReference = type === 'item_reference' || (type === '' && item['role'] === undefined)
  const isPicture = type === 'image_generation_call' && (item['result'] ?? null) === null
  return isReference || isPicture ? { path, field: 'item_reference', what: 'an item', value: item['id'] } : null
}
