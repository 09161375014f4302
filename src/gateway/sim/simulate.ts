import { setTimeout } from 'node:timers/promises'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import { newId } from '#core/ids.ts'
import { usageOf } from '#core/usage.ts'
import type { Chunk, FaultKind, CanonicalRequest, CanonicalMessage } from '../model/canonical-request.ts'
import { SIM_CONTEXT, SIM_OUTPUT, simModelOf } from './offers.ts'
import { type Script, ScriptMistake, type Step, stepsNow } from './script.ts'
import { countInput, countWords, pieces } from './words.ts'

const AT_A_TIME = 256

/**
 * Chunks follow the same rules as a provider's; an invalid turn is an `error` chunk before any other. Throws the
 * signal's reason as soon as it aborts.
 */
export async function* simulate(
  canonical: CanonicalRequest,
  signal: AbortSignal,
  party: string,
): AsyncGenerator<Chunk, void, undefined> {
  signal.throwIfAborted()
  const input = countInput(canonical.messages)
  if (input > SIM_CONTEXT) {
    yield errorChunk('context_length', `prompt is too long: ${input} tokens > ${SIM_CONTEXT} maximum`, 400)
    return
  }
  const plan = planOf(canonical)
  if ('type' in plan) {
    yield plan
    return
  }
  const player = new Player(canonical, input, plan.usage)
  let wordCount = 0
  // A limit of 0 only warms a cache, and gets an empty answer.
  for (const step of canonical.max_output_tokens === 0 ? [] : plan.steps) {
    if (step.type === 'delay') {
      await setTimeout(step.ms, undefined, { signal }).catch(() => signal.throwIfAborted())
      continue
    }
    for (const chunk of player.play(step)) {
      yield chunk
      signal.throwIfAborted()
      if (++wordCount % AT_A_TIME === 0) await nextPiece(party)
    }
    if (player.over) return
  }
  yield* player.finish('stop')
}

function planOf({
  model,
  messages,
}: CanonicalRequest): { steps: Step[]; usage: Script['usage'] } | Extract<Chunk, { type: 'error' }> {
  const name = simModelOf(model)
  if (name === null)
    return errorChunk('model_not_found', `The simulated model ${model} doesn’t exist. Use sim/echo or sim/script.`, 404)
  if (name === 'echo') return { steps: [{ type: 'text', text: lastWords(messages) }], usage: null }
  try {
    return stepsNow(messages)
  } catch (error) {
    if (error instanceof ScriptMistake) return errorChunk('bad_request', error.message, 400)
    throw error
  }
}

const errorChunk = (kind: FaultKind, message: string, status: number | null): Extract<Chunk, { type: 'error' }> => ({
  type: 'error',
  error: { kind, message, ...(status !== null && { status }) },
})

const lastWords = (messages: CanonicalMessage[]): string =>
  (messages.findLast(({ role }) => role === 'user')?.content ?? [])
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')

class Player {
  readonly #limit: number
  readonly #stops: string[]
  readonly #model: string
  readonly #input: number
  readonly #override: Script['usage']
  #output = 0
  #reasoning = 0
  #called = false
  #started = false
  over = false

  constructor(canonical: CanonicalRequest, input: number, override: Script['usage']) {
    this.#limit = Math.min(canonical.max_output_tokens ?? SIM_OUTPUT, SIM_OUTPUT)
    this.#stops = (canonical.stop ?? []).filter((words) => words !== '')
    this.#model = canonical.model
    this.#input = input
    this.#override = override
  }

  *play(step: Exclude<Step, { type: 'delay' }>): Generator<Chunk> {
    switch (step.type) {
      case 'text': {
        const { text, stop } = this.#until(step.text)
        yield* this.#words(text, (piece) => ({ type: 'text', text: piece }))
        if (stop !== null && !this.over) yield* this.finish('stop', stop)
        return
      }
      case 'reasoning':
        yield* this.#words(step.text, (piece) => ({ type: 'reasoning', text: piece }))
        if (!this.over) yield { type: 'reasoning_end' }
        return
      case 'tool_call': {
        if (this.#output + this.#reasoning >= this.#limit) {
          yield* this.finish('length')
          return
        }
        const id = `call_${newId()}`
        this.#called = true
        yield* this.#start()
        yield { type: 'tool_call_start', id, name: step.name }
        yield* this.#words(step.arguments, (delta) => ({ type: 'tool_call_delta', id, delta }), {
          type: 'tool_call_end',
          id,
        })
        if (!this.over) yield { type: 'tool_call_end', id }
        return
      }
      case 'error':
        if (this.#started) yield { type: 'usage', usage: this.#usage() }
        this.over = true
        yield errorChunk(step.kind, step.message, step.status)
    }
  }

  *finish(reason: 'stop' | 'length', stop: string | null = null): Generator<Chunk> {
    this.over = true
    yield* this.#start()
    yield { type: 'usage', usage: this.#usage() }
    const word = reason === 'stop' && this.#called && stop === null ? 'tool_calls' : reason
    yield { type: 'finish', reason: word, native: word, ...(stop !== null && { stop_sequence: stop }) }
  }

  /** Emits one chunk per word. At the limit the answer is cut after `closing` and ends with `length`. */
  *#words(text: string, chunkOf: (piece: string) => Chunk, closing?: Chunk): Generator<Chunk> {
    let hasReasoning = false
    for (const piece of pieces(text)) {
      // White space alone costs nothing.
      const cost = countWords(piece)
      if (this.#output + this.#reasoning + cost > this.#limit) {
        if (closing) yield closing
        if (hasReasoning) yield { type: 'reasoning_end' }
        yield* this.finish('length')
        return
      }
      yield* this.#start()
      const chunk = chunkOf(piece)
      hasReasoning ||= chunk.type === 'reasoning'
      if (chunk.type === 'reasoning') this.#reasoning += cost
      else this.#output += cost
      yield chunk
    }
  }

  #until(text: string): { text: string; stop: string | null } {
    let firstStop: { at: number; stop: string } | null = null
    for (const stop of this.#stops) {
      const at = text.indexOf(stop)
      if (at !== -1 && (firstStop === null || at < firstStop.at)) firstStop = { at, stop }
    }
    return firstStop === null ? { text, stop: null } : { text: text.slice(0, firstStop.at), stop: firstStop.stop }
  }

  *#start(): Generator<Chunk> {
    if (this.#started) return
    this.#started = true
    yield { type: 'start', id: `sim_${newId()}`, model: this.#model }
  }

  #usage() {
    const counts = { input_tokens: this.#input, output_tokens: this.#output, reasoning_tokens: this.#reasoning }
    return usageOf({ ...counts, ...this.#override })
  }
}
