import { Body, withField, without } from '../../model/body.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { isObject, type Json, listOf, objectOf, parseJson } from '../../model/json.ts'
import { withReasoningDetails, hidesReasoning } from '../../wire/openai-chat/write/said-reasoning.ts'
import { costFields } from '../../wire/openai-chat/usage.ts'
import { readUsage } from '../../wire/parts/openai-usage.ts'
import { StreamWriter } from '../../wire/openai-chat/write/stream.ts'
import type { Redraft } from '../../passthrough/redraft.ts'

/**
 * A redraft adds what OpenRouter's clients read and others who speak this shape do not say: whose id it is, who served, what it cost,
 * and the provider's own finish word. Everything else passes as it is.
 */
export function redraft(about: AnswerAbout): Redraft {
  const id = JSON.stringify(`gen-${about.id}`)
  // As latin1 every byte keeps its place; what is put in is its UTF-8.
  const provider = latin1(JSON.stringify(about.provider))
  const model = latin1(JSON.stringify(about.model))

  const hidden = hidesReasoning(about.request)
  /** Which block of reasoning is being said, and whether it is. */
  const thoughts = { block: 0, open: false }

  /** A message or a delta as OpenRouter's clients read it. */
  function told(given: Json): Json {
    const message = withReasoningDetails(given, thoughts.block)
    const { reasoning: _, reasoning_details: thinks, ...unthought } = message
    const supportsShape = Boolean(message['content']) || message['tool_calls'] !== undefined
    if (thoughts.open && thinks === undefined && supportsShape) thoughts.block++
    thoughts.open = thinks !== undefined || (thoughts.open && !supportsShape)
    return hidden ? unthought : message
  }

  const choice = (one: unknown): unknown => {
    if (!isObject(one)) return one
    const { message, delta } = one
    return {
      finish_reason: null,
      ...one,
      ...(isObject(message) && { message: told(message) }),
      ...(isObject(delta) && { delta: told(withoutNulls(delta)) }),
    }
  }

  function line(given: string): string {
    if (!given.startsWith('data:') || given.indexOf('{') < 0) return given
    const text = given.replace(NOTHING, '')
    if (WHOLLY.test(text) || thoughts.open || !NEEDED.every((key) => text.includes(key)))
      return `data: ${rewritten(text.slice(5))}${ending(text)}`
    const named = text.replace(
      FIRST_ID,
      (_, start: string) => `${start}${id}${text.includes('"provider":') ? '' : `,"provider":${provider}`}`,
    )
    // An id that does not stand first: a tool call's could be taken for it.
    if (named === text) return `data: ${rewritten(text.slice(5))}${ending(text)}`
    return withChoiceKeys(named.replace(MODEL, `"model":${model}`))
  }

  /** The event as a whole; of one that cannot be read, itself. */
  function rewritten(event: string): string {
    const json = parseJson(Buffer.from(event, 'latin1').toString())
    if (!isObject(json)) return event.trim()
    // Others break off with an error and nothing else; strict clients read it only beside a choice, its code a number.
    if (json['error'] && !Array.isArray(json['choices'])) return latin1(brokenOff(json['error'], about))
    const named: Json = {
      object: 'chat.completion.chunk',
      created: about.created,
      ...json,
      id: `gen-${about.id}`,
      model: about.model,
      provider: json['provider'] ?? about.provider,
    }
    if (isObject(json['usage'])) named['usage'] = priced(json['usage'], about)
    for (const name of ['usage', 'system_fingerprint']) if (named[name] === null) delete named[name]
    named['choices'] = listOf(json['choices']).map(choice)
    return withChoiceKeys(latin1(JSON.stringify(named)))
  }

  return {
    events: (events) =>
      Buffer.from(
        events
          .toString('latin1')
          .split(/(?<=\n)/)
          .map(line)
          .join(''),
        'latin1',
      ),
    whole(bytes) {
      const text = withRefusal(withChoiceKeys(bytes.toString('latin1')))
      const source = Buffer.from(text, 'latin1')
      const json = parseJson(source.toString())
      if (!isObject(json)) return bytes
      let body = new Body(source, { json })
      body = withField(body, 'id', `gen-${about.id}`)
      body = withField(body, 'model', about.model)
      if (json['provider'] === undefined) body = withField(body, 'provider', about.provider)
      if (json['system_fingerprint'] === undefined) body = withField(body, 'system_fingerprint', null)
      if (isObject(json['usage'])) body = withField(body, 'usage', priced(json['usage'], about))
      else if (json['usage'] === null) body = without(body, new Set(['usage']))
      if (text.includes('"reasoning')) body = withField(body, 'choices', listOf(body.json['choices']).map(choice))
      return body.bytes
    },
  }
}

/** Clients of OpenRouter's fail on these where they are null. */
const NOTHING = /,"(?:usage|system_fingerprint)": ?null(?=[,}])/g
/** Fields that are more than a name that can be put in where another stood. */
const WHOLLY = /"usage": ?\{|"(?:usage|system_fingerprint)": ?null|"reasoning|"(?:tool_calls|role|audio)": ?null/

/** OpenRouter leaves out what a piece does not say. */
const withoutNulls = (delta: Json): Json =>
  Object.fromEntries(Object.entries(delta).filter(([name, value]) => value !== null || SILENT.has(name)))
const SILENT: ReadonlySet<string> = new Set(['content', 'refusal'])

/** Fields that OpenRouter's SDK fails without (`system_fingerprint` of whole answers is another), and some servers leave out. */
const NEEDED = ['"object"', '"created"', '"finish_reason"']

/** The data of its frame for an answer that broke off. */
const brokenOff = (error: unknown, about: AnswerAbout): string =>
  new StreamWriter(about, 'compat-c', true).fail(readStreamFault(error)).slice('data: '.length).trimEnd()

const FIRST_ID = /^(data: ?\{"id": ?)"(?:[^"\\]|\\.)*"/
const MODEL = /"model": ?"(?:[^"\\]|\\.)*"/
const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
const ending = (line: string): string => /\r?\n?$/.exec(line)![0]

/** Quotes inside of strings are escaped, so these can only be keys. */
const FINISH = /"finish_reason": ?("(?:[^"\\]|\\.)*"|null)/g

/** The text with the keys that each choice of OpenRouter's has, where the server leaves them out. */
function withChoiceKeys(text: string): string {
  const native = text.includes('"native_finish_reason"') ? '' : ',"native_finish_reason":$1'
  const logprobs = text.includes('"logprobs"') ? '' : ',"logprobs":null'
  return native === '' && logprobs === '' ? text : text.replaceAll(FINISH, `"finish_reason":$1${native}${logprobs}`)
}

/** The same for the message of a whole answer. */
const withRefusal = (text: string): string =>
  text.includes('"refusal"') ? text : text.replaceAll(/"message": ?\{(?=\s*")/g, '"message":{"refusal":null,')

function priced(given: Json, about: AnswerAbout): Json {
  const read = readUsage(given)
  if (read === null) return given
  const { cost_details: details, ...fields } = costFields(read.usage, read.cost_usd ?? null, about, read.media)
  return { ...given, ...fields, cost_details: { ...objectOf(details), ...objectOf(given['cost_details']) } }
}
