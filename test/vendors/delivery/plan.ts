// The model's output: the scripted reply or an echo, cut into tokens, with a matching usage.
import { randomInt } from 'node:crypto'
import type { Behaviour, Citation, Json } from '../vendor.ts'

export type Plan = {
  text: string
  reasoning: string
  signature: string
  refusal: string | undefined
  citations: Citation[]
  tools: { id: string | undefined; name: string; arguments: string }[]
  /** The reply reached the request's token limit. */
  cut: boolean
  usage: { input: number; output: number; cached: number; cacheWrite: number; reasoning: number; cost?: number }
}

export type Ask = {
  behaviour: Behaviour
  /** The last user text. */
  echo: string
  /** Everything that counts as input. */
  prompt: unknown[]
  limit?: number | null | undefined
  /** A tool that the request forces. */
  forced?: string | undefined
  thinks?: boolean | undefined
  json?: boolean | undefined
}

export function planOf({ behaviour, echo, prompt, limit, forced: forcedToolName, thinks, json }: Ask): Plan {
  if (behaviour.talks !== undefined) return talk(behaviour, behaviour.talks, prompt, limit ?? Infinity)
  const scriptedReply = typeof behaviour.reply === 'string' ? { text: behaviour.reply } : behaviour.reply
  const reply = scriptedReply ?? {
    text: forcedToolName === undefined ? (json ? JSON.stringify({ echo }) : echo) : '',
    tools: forcedToolName === undefined ? [] : [{ name: forcedToolName, arguments: {} }],
    reasoning: thinks ? 'The user wrote this, so it goes back as it came.' : '',
  }
  const words = tokens(reply.text ?? '')
  const most = limit ?? Infinity
  const isCut = scriptedReply === undefined && words.length > most
  const text = isCut ? words.slice(0, most).join('') : (reply.text ?? '')
  const tools = (reply.tools ?? []).map((call) => ({
    id: call.id,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }))
  const reasoning = tokens(reply.reasoning ?? '').length
  const outputTexts = [text, reply.refusal ?? '', ...tools.map((call) => call.name + call.arguments)]
  const output = outputTexts.reduce((sum, part) => sum + tokens(part).length, reasoning)
  return {
    text,
    reasoning: reply.reasoning ?? '',
    signature: reply.signature ?? Buffer.from(`signed: ${reply.reasoning ?? ''}`).toString('base64'),
    refusal: reply.refusal,
    citations: reply.citations ?? [],
    tools,
    cut: isCut,
    usage: usageOf(behaviour, {
      input: prompt.reduce<number>((sum, part) => sum + weigh(part), 0),
      output,
      reasoning,
    }),
  }
}

/** The scripted usage, or else the counted tokens. */
const usageOf = (
  { usage = {} }: Behaviour,
  counted: { input: number; output: number; reasoning: number },
): Plan['usage'] => ({
  input: usage.input ?? Math.max(1, counted.input),
  output: usage.output ?? Math.max(1, counted.output),
  cached: usage.cached ?? 0,
  cacheWrite: usage.cacheWrite ?? 0,
  reasoning: usage.reasoning ?? counted.reasoning,
  ...(usage.cost === undefined ? {} : { cost: usage.cost }),
})

/** A model that never stops: its output is as long as the limit allows. */
function talk({ usage = {} }: Behaviour, length: number, prompt: unknown[], limit: number): Plan {
  const output = Math.min(length, limit)
  return {
    text: Array.from({ length: output }, () => ' word').join(''),
    reasoning: '',
    signature: '',
    refusal: undefined,
    citations: [],
    tools: [],
    cut: limit < length,
    usage: { input: usage.input ?? Math.max(1, weigh(prompt)), output, cached: 0, cacheWrite: 0, reasoning: 0 },
  }
}

/** Pieces of up to six characters with the space before them; joined, they are the text. */
export function tokens(text: string): string[] {
  return text.match(/\s*\S{1,6}|\s+/gu) ?? []
}

/** Estimates the input tokens of any part of a request; media counts flat. */
export function weigh(part: unknown): number {
  if (typeof part === 'string') return part.length > 4096 && !part.includes(' ') ? 85 : tokens(part).length
  if (typeof part !== 'object' || part === null) return 0
  return Object.values(part as Json).reduce<number>((sum, inner) => sum + weigh(inner), 1)
}

/** The text of the last message of this role, from a string or text parts. */
export function lastText(messages: Json[], role = 'user'): string {
  const message = messages.findLast((one) => one['role'] === role && textOf(one['content']) !== '')
  return message ? textOf(message['content']) : 'nothing to echo'
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: Json) => (part['type'] === 'text' ? part['text'] : '')).join('')
}

export function parse(body: Buffer): Json | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

export function id(prefix: string, length = 24): string {
  return prefix + Array.from({ length }, () => letters[randomInt(letters.length)]).join('')
}
