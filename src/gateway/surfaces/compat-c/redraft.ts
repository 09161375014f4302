import { Body, withField, without } from '../../model/body.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { isObject, type Json, listOf, objectOf, parseJson } from '../../model/json.ts'
import { withReasoningDetails, hidesReasoning } from '../../wire/openai-chat/write/reasoning-fields.ts'
import { costFields } from '../../wire/openai-chat/usage.ts'
import { readUsage } from '../../wire/parts/openai-usage.ts'
import { StreamWriter } from '../../wire/openai-chat/write/stream.ts'
import type { Redraft } from '../../passthrough/redraft.ts'

/**
 * Adds what OpenRouter's clients read and other servers leave out: our ID, the provider, the cost, and the native
 * finish reason. Everything else passes unchanged.
 */
export function redraft(about: AnswerAbout): Redraft {
  const id = JSON.stringify(`gen-${about.id}`)
  // In latin1 every byte keeps its position; inserted text is its UTF-8.
  const provider = latin1(JSON.stringify(about.provider))
  const model = latin1(JSON.stringify(about.model))

  const hidesThoughts = hidesReasoning(about.request)
  const thoughts = { block: 0, open: false }

  function convertMessage(source: Json): Json {
    const message = withReasoningDetails(source, thoughts.block)
    const { reasoning: _, reasoning_details: thinks, ...unthought } = message
    const supportsShape = Boolean(message['content']) || message['tool_calls'] !== undefined
    if (thoughts.open && thinks === undefined && supportsShape) thoughts.block++
    thoughts.open = thinks !== undefined || (thoughts.open && !supportsShape)
    return hidesThoughts ? unthought : message
  }

  const choice = (one: unknown): unknown => {
    if (!isObject(one)) return one
    const { message, delta } = one
    return {
      finish_reason: null,
      ...one,
      ...(isObject(message) && { message: convertMessage(message) }),
      ...(isObject(delta) && { delta: convertMessage(withoutNulls(delta)) }),
    }
  }

  function line(event: string): string {
    if (!event.startsWith('data:') || event.indexOf('{') < 0) return event
    const text = event.replace(NOTHING, '')
    if (WHOLLY.test(text) || thoughts.open || !NEEDED.every((key) => text.includes(key)))
      return `data: ${rewritten(text.slice(5))}${ending(text)}`
    const edited = text.replace(
      FIRST_ID,
      (_, start: string) => `${start}${id}${text.includes('"provider":') ? '' : `,"provider":${provider}`}`,
    )
    // The ID isn't first: a tool call's could be mistaken for it.
    if (edited === text) return `data: ${rewritten(text.slice(5))}${ending(text)}`
    return withChoiceKeys(edited.replace(MODEL, `"model":${model}`))
  }

  function rewritten(event: string): string {
    const json = parseJson(Buffer.from(event, 'latin1').toString())
    if (!isObject(json)) return event.trim()
    // Other servers end with only an error; strict clients read it only beside a choice, with a numeric code.
    if (json['error'] && !Array.isArray(json['choices'])) return latin1(brokenOff(json['error'], about))
    const output: Json = {
      object: 'chat.completion.chunk',
      created: about.created,
      ...json,
      id: `gen-${about.id}`,
      model: about.model,
      provider: json['provider'] ?? about.provider,
    }
    if (isObject(json['usage'])) output['usage'] = withCost(json['usage'], about)
    for (const name of ['usage', 'system_fingerprint']) if (output[name] === null) delete output[name]
    output['choices'] = listOf(json['choices']).map(choice)
    return withChoiceKeys(latin1(JSON.stringify(output)))
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
      if (isObject(json['usage'])) body = withField(body, 'usage', withCost(json['usage'], about))
      else if (json['usage'] === null) body = without(body, new Set(['usage']))
      if (text.includes('"reasoning')) body = withField(body, 'choices', listOf(body.json['choices']).map(choice))
      return body.bytes
    },
  }
}

/** OpenRouter's clients fail if these are null. */
const NOTHING = /,"(?:usage|system_fingerprint)": ?null(?=[,}])/g
const WHOLLY = /"usage": ?\{|"(?:usage|system_fingerprint)": ?null|"reasoning|"(?:tool_calls|role|audio)": ?null/

/** OpenRouter leaves out empty fields of a delta. */
const withoutNulls = (delta: Json): Json =>
  Object.fromEntries(Object.entries(delta).filter(([name, value]) => value !== null || SILENT.has(name)))
const SILENT: ReadonlySet<string> = new Set(['content', 'refusal'])

/**
 * Fields that OpenRouter's SDK requires (as well as `system_fingerprint` in whole answers) and some servers leave out.
 */
const NEEDED = ['"object"', '"created"', '"finish_reason"']

const brokenOff = (error: unknown, about: AnswerAbout): string =>
  new StreamWriter(about, 'compat-c', true).fail(readStreamFault(error)).slice('data: '.length).trimEnd()

const FIRST_ID = /^(data: ?\{"id": ?)"(?:[^"\\]|\\.)*"/
const MODEL = /"model": ?"(?:[^"\\]|\\.)*"/
const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
const ending = (line: string): string => /\r?\n?$/.exec(line)![0]

/** Quotes inside strings are escaped, so these can only be keys. */
const FINISH = /"finish_reason": ?("(?:[^"\\]|\\.)*"|null)/g

function withChoiceKeys(text: string): string {
  const native = text.includes('"native_finish_reason"') ? '' : ',"native_finish_reason":$1'
  const logprobs = text.includes('"logprobs"') ? '' : ',"logprobs":null'
  return native === '' && logprobs === '' ? text : text.replaceAll(FINISH, `"finish_reason":$1${native}${logprobs}`)
}

const withRefusal = (text: string): string =>
  text.includes('"refusal"') ? text : text.replaceAll(/"message": ?\{(?=\s*")/g, '"message":{"refusal":null,')

function withCost(usage: Json, about: AnswerAbout): Json {
  const parsedUsage = readUsage(usage)
  if (parsedUsage === null) return usage
  const { cost_details: details, ...fields } = costFields(
    parsedUsage.usage,
    parsedUsage.cost_usd ?? null,
    about,
    parsedUsage.media,
  )
  return { ...usage, ...fields, cost_details: { ...objectOf(details), ...objectOf(usage['cost_details']) } }
}
