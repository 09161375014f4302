/** Random conversations, spoken by the official SDKs, each in its own shape. */
import assert from 'node:assert/strict'
import type Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import type OpenAI from 'openai'

interface Call {
  name: string
  args: Record<string, string>
}
type Step = { system: string } | { user: string } | { said: string; calls: Call[] }
/** A conversation, and the answer that its vendor is scripted to give. */
export interface Talk {
  steps: Step[]
  answer: { text: string; calls: Call[]; thought: string }
  usage: { input: number; cached: number; output: number; reasoning: number }
  /** Bytes per piece. */
  chunking: number
  streamed: boolean
}

/** The answer as a client's SDK understood it. */
interface HeardAnswer {
  text: string
  calls: Call[]
  /** The same, joined from a stream's deltas; null: the answer came whole. */
  joined: { text: string; args: string[] } | null
  called: boolean
  input: number
  output: number
  total: number
  /** Sends the answer back with results for its calls; the next turn must work too. */
  next(): Promise<string>
}

const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 24 })
  .filter((text) => text.trim() !== '' && text.isWellFormed() && !text.includes('\0'))
const names = ['weather', 'look_up', 'a-b'] as const
const call: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom(...names),
  args: fc.dictionary(fc.constantFrom('city', 'größe', 'x'), words, { maxKeys: 3, noNullPrototype: true }),
})
const calls = fc.array(call, { maxLength: 3 })
const exchange = fc
  .tuple(words, words, calls, fc.option(words, { freq: 4 }))
  .map(([user, text, calls, system]): Step[] => [
    { user },
    { said: text, calls },
    ...(system === null ? [] : [{ system }]),
  ])
export const talk: fc.Arbitrary<Talk> = fc
  .record({
    opening: fc.option(words),
    exchanges: fc.array(exchange, { maxLength: 3 }),
    last: words,
    answer: fc.record({ text: fc.oneof(words, fc.constant('')), calls, thought: fc.oneof(words, fc.constant('')) }),
    counts: fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(100), fc.integer({ min: 1, max: 5000 }), fc.nat(100)),
    chunking: fc.integer({ min: 1, max: 60 }),
    streamed: fc.boolean(),
  })
  // Objects as JSON produces them.
  .map((one) => JSON.parse(JSON.stringify(one)) as typeof one)
  .filter(({ answer }) => answer.text !== '' || answer.calls.length > 0)
  .map(
    ({
      opening,
      exchanges,
      last,
      answer,
      counts: [input, cacheReads, output, reasoningTokens],
      chunking,
      streamed: isStream,
    }) => ({
      steps: [...(opening === null ? [] : [{ system: opening }]), ...exchanges.flat(), { user: last }],
      answer,
      usage: {
        input,
        cached: Math.floor((input * cacheReads) / 100),
        output,
        reasoning: Math.floor((output * reasoningTokens) / 100),
      },
      chunking,
      streamed: isStream,
    }),
  )

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } }
const callId = (step: number, n: number): string => `call_${step}_${n}`
export const argsOf = (text: string): Record<string, string> => JSON.parse(text) as Record<string, string>

export type Client = (model: string, talk: Talk) => Promise<HeardAnswer>

export const chatOf =
  (client: OpenAI): Client =>
  async (model, { steps, streamed: isStream }) => {
    const messages = steps.flatMap((step, at): OpenAI.Chat.ChatCompletionMessageParam[] => {
      if ('system' in step) return [{ role: 'system', content: step.system }]
      if ('user' in step) return [{ role: 'user', content: step.user }]
      const tool_calls = step.calls.map(({ name, args }, n) => ({
        id: callId(at, n),
        type: 'function' as const,
        function: { name, arguments: JSON.stringify(args) },
      }))
      return [
        { role: 'assistant', content: step.said, ...(tool_calls.length > 0 && { tool_calls }) },
        ...tool_calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'done' })),
      ]
    })
    const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters } }))
    const params = { model, messages, tools }
    let joinedDeltas: HeardAnswer['joined'] = null
    let answer: OpenAI.Chat.ChatCompletion
    if (isStream) {
      const stream = client.chat.completions.stream({ ...params, stream_options: { include_usage: true } })
      const args: string[] = []
      joinedDeltas = { text: '', args }
      for await (const { choices } of stream) {
        joinedDeltas.text += choices[0]?.delta.content ?? ''
        for (const one of choices[0]?.delta.tool_calls ?? [])
          args[one.index] = (args[one.index] ?? '') + (one.function?.arguments ?? '')
      }
      answer = await stream.finalChatCompletion()
    } else answer = await client.chat.completions.create(params)
    const { message, finish_reason: reason } = answer.choices[0]!
    const calls = (message.tool_calls ?? []).flatMap((one) => (one.type === 'function' ? [one.function] : []))
    const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = answer.usage!
    return {
      text: message.content ?? '',
      calls: calls.map((one) => ({ name: one.name, args: argsOf(one.arguments) })),
      joined: joinedDeltas,
      called: reason === 'tool_calls',
      input,
      output,
      total,
      next: async () => {
        const results = (message.tool_calls ?? []).map(({ id }) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: 'done',
        }))
        const all = [...messages, message, ...results, { role: 'user' as const, content: 'next' }]
        return (await client.chat.completions.create({ ...params, messages: all })).choices[0]!.message.content ?? ''
      },
    }
  }

export const responsesOf =
  (client: OpenAI): Client =>
  async (model, { steps, streamed: isStream }) => {
    const input = steps.flatMap((step, at): OpenAI.Responses.ResponseInputItem[] => {
      if ('system' in step) return [{ role: 'developer', content: step.system }]
      if ('user' in step) return [{ role: 'user', content: [{ type: 'input_text', text: step.user }] }]
      return [
        { role: 'assistant', content: step.said },
        ...step.calls.map(({ name, args }, n) => ({
          type: 'function_call' as const,
          call_id: callId(at, n),
          name,
          arguments: JSON.stringify(args),
        })),
        ...step.calls.map((_, n) => ({
          type: 'function_call_output' as const,
          call_id: callId(at, n),
          output: 'done',
        })),
      ]
    })
    const tools = names.map((name) => ({ type: 'function' as const, name, parameters, strict: false }))
    const include = ['reasoning.encrypted_content' as const]
    const params = { model, input, tools, store: false, include }
    let joinedDeltas: HeardAnswer['joined'] = null
    let answer: OpenAI.Responses.Response
    if (isStream) {
      const stream = client.responses.stream(params)
      const args = new Map<number, string>()
      let text = ''
      for await (const event of stream) {
        if (event.type === 'response.output_text.delta') text += event.delta
        else if (event.type === 'response.output_item.added' && event.item.type === 'function_call')
          args.set(event.output_index, '')
        else if (event.type === 'response.function_call_arguments.delta')
          args.set(event.output_index, args.get(event.output_index)! + event.delta)
      }
      answer = await stream.finalResponse()
      assert.ok(answer.status !== 'failed', answer.error?.message)
      joinedDeltas = { text, args: [...args.values()] }
    } else answer = await client.responses.create(params)
    const calls = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    const { input_tokens: inputTokens, output_tokens: output, total_tokens: total } = answer.usage!
    return {
      text: answer.output_text,
      calls: calls.map((one) => ({ name: one.name, args: argsOf(one.arguments) })),
      joined: joinedDeltas,
      called: calls.length > 0,
      input: inputTokens,
      output,
      total,
      next: async () => {
        const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'done' }))
        const outputItems = answer.output as OpenAI.Responses.ResponseInputItem[]
        const all = [...input, ...outputItems, ...results, { role: 'user' as const, content: 'next' }]
        return (await client.responses.create({ ...params, input: all })).output_text
      },
    }
  }

export const messagesOf =
  (client: Anthropic): Client =>
  async (model, { steps, streamed: isStream }) => {
    const [first, ...others] = steps
    const system = first && 'system' in first ? first.system : undefined
    const messages = (system === undefined ? steps : others).flatMap((step, at): Anthropic.MessageParam[] => {
      if ('system' in step) return [{ role: 'system', content: step.system }]
      if ('user' in step) return [{ role: 'user', content: step.user }]
      const uses = step.calls.map(({ name, args }, n) => ({
        type: 'tool_use' as const,
        id: callId(at, n),
        name,
        input: args,
      }))
      // In reverse order, as some clients do.
      const results = uses
        .toReversed()
        .map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'done' }))
      return [
        { role: 'assistant', content: [{ type: 'text', text: step.said }, ...uses] },
        ...(results.length > 0 ? [{ role: 'user' as const, content: results }] : []),
      ]
    })
    const tools = names.map((name) => ({ name, input_schema: parameters }))
    const params = { model, max_tokens: 10_000, messages, tools, ...(system !== undefined && { system }) }
    let joinedDeltas: HeardAnswer['joined'] = null
    let answer: Anthropic.Message
    if (isStream) {
      const stream = client.messages.stream(params)
      const args = new Map<number, string>()
      let text = ''
      for await (const event of stream) {
        if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') args.set(event.index, '')
        if (event.type !== 'content_block_delta') continue
        if (event.delta.type === 'text_delta') text += event.delta.text
        if (event.delta.type === 'input_json_delta')
          args.set(event.index, args.get(event.index)! + event.delta.partial_json)
      }
      answer = await stream.finalMessage()
      joinedDeltas = { text, args: [...args.values()] }
    } else answer = await client.messages.create(params)
    const { usage } = answer
    const input = usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
    return {
      text: answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: answer.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ name: block.name, args: block.input as Record<string, string> }] : [],
      ),
      joined: joinedDeltas,
      called: answer.stop_reason === 'tool_use',
      input,
      output: usage.output_tokens,
      total: input + usage.output_tokens,
      next: async () => {
        const results = answer.content.flatMap((block) =>
          block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'done' }] : [],
        )
        const all: Anthropic.MessageParam[] = [
          ...messages,
          { role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] },
          { role: 'user', content: [...results, { type: 'text', text: 'next' }] },
        ]
        const { content } = await client.messages.create({ ...params, messages: all })
        return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      },
    }
  }
