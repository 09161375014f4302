import type { CacheMark, CanonicalMessage, CanonicalPart } from '../../../model/canonical-request.ts'
import type { Json } from '../../../model/json.ts'
import { Losses } from '../../shared/losses.ts'
import type { ToolNames } from '../../shared/tools/tool-names.ts'
import { encodePart } from './parts.ts'

export interface MessageRules {
  names: ToolNames
  ids: (id: string) => string
  losses: Losses
  midSystem: boolean
}

export interface AnthropicMessage {
  role: 'user' | 'assistant' | 'system'
  content: Json[]
}

export const markOf = (cache: CacheMark | undefined): Json | undefined =>
  cache === undefined ? undefined : { type: 'ephemeral', ...(cache === '1h' && { ttl: '1h' }) }

export const block = (fields: Json, cache: CacheMark | undefined): Json =>
  cache === undefined ? fields : { ...fields, cache_control: markOf(cache) }

/**
 * Leading system messages apart, adjacent messages of one role merged, empty ones left out. If the model accepts no
 * later system messages, they become part of the user's turn in a tag: moved to the top they would change what was said
 * before them, and invalidate every cached prefix.
 */
export function encodeMessages(
  messages: CanonicalMessage[],
  rules: MessageRules,
): { system: Json[]; messages: AnthropicMessage[] } {
  const first = messages.findIndex(({ role }) => role !== 'system')
  const leading = first === -1 ? messages : messages.slice(0, first)
  const system = leading.flatMap(({ content }) => blocks(content, rules))
  const turns: AnthropicMessage[] = []
  for (const message of messages.slice(leading.length)) {
    const role = message.role === 'tool' || (message.role === 'system' && !rules.midSystem) ? 'user' : message.role
    const content =
      message.role === 'system' && role === 'user'
        ? wrapInTag(blocks(message.content, rules))
        : blocks(message.content, rules)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  trimEnd(turns.at(-1))
  const nonEmpty = turns.filter(({ content }) => content.length > 0)
  // "at least one message is required"
  return {
    system,
    messages: nonEmpty.length > 0 ? nonEmpty : [{ role: 'user', content: [{ type: 'text', text: '…' }] }],
  }
}

const blocks = (content: CanonicalPart[], rules: MessageRules): Json[] =>
  content.flatMap((part) => {
    const one = encodePart(part, rules)
    if (one === null && 'cache' in part && part.cache !== undefined) rules.losses.add('cache_control')
    return one ? [block(one, 'cache' in part ? part.cache : undefined)] : []
  })

const wrapInTag = (content: Json[]): Json[] =>
  content.map((one) => (one['type'] === 'text' ? { ...one, text: `<system>\n${String(one['text'])}\n</system>` } : one))

/** A prefilled answer that the model continues must not end in white space. */
function trimEnd(message: AnthropicMessage | undefined): void {
  const last = message?.content.at(-1)
  if (message?.role !== 'assistant' || last?.['type'] !== 'text') return
  const text = String(last['text']).trimEnd()
  if (text === '') message.content.pop()
  else last['text'] = text
}
