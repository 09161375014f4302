import type { AnyEndpoint } from '#core/contract.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { split } from '../../client.ts'
import { consentQuestionOf } from './asking.ts'
import { bytesResult } from './bytes.ts'
import { type Card, type Catalogue, createCatalogue, forAgents } from '../catalogue/catalogue.ts'
import { collect } from './collect.ts'
import { describe } from './describe.ts'
import type { AgentCaller } from './door.ts'
import { find } from './find.ts'
import { type ConsentQuestion, type ToolName, type ToolResult, toolRefusal, toolResult } from './tools.ts'

export interface ToolCall {
  /** Fires when the client stops waiting. */
  signal: AbortSignal
  /** Receives progress messages; undefined if the client didn't ask for them. */
  progress?: ((message: string) => void) | undefined
  /** Set if a user can be asked for approval; `answer` is their answer to a question. */
  person?: { answer: { question: string; agreed: boolean } | null } | undefined
}

/** `find`, `describe` and `do` over these endpoints. Never throws: errors are results with `isError`. */
export interface AgentTools {
  run(
    tool: ToolName,
    given: Record<string, unknown>,
    caller: AgentCaller,
    call: ToolCall,
  ): Promise<ToolResult | ConsentQuestion>
}

export function createAgentTools(endpoints: readonly ListedEndpoint[]): AgentTools {
  const catalogue = createCatalogue(endpoints)
  const forPeople = new Set(endpoints.filter((one) => !forAgents(one)).map(({ name }) => name))

  function cardOf(given: Record<string, unknown>): Card {
    const name = textOf(given, 'name')
    const card = catalogue.get(name)
    if (card) return card
    if (forPeople.has(name)) return refuse('cookie_session_required')
    return refuse('not_found', {
      message: `Unknown endpoint ${name}. Search with \`find\`.`,
      param: 'name',
      details: { near: near(catalogue, name) },
    })
  }

  async function answer(
    tool: ToolName,
    given: Record<string, unknown>,
    caller: AgentCaller,
    call: ToolCall,
  ): Promise<ToolResult | ConsentQuestion> {
    onlyKnown(given, parameters[tool])
    switch (tool) {
      case 'find':
        return toolResult(find(catalogue, caller, textOf(given, 'query'), limitOf(given)))
      case 'describe':
        return toolResult(describe(cardOf(given), caller))
      case 'do':
        return doEndpoint(cardOf(given), inputOf(given), caller, call)
    }
  }

  return {
    async run(tool, given, caller, call) {
      try {
        return await answer(tool, given, caller, call)
      } catch (error) {
        return toolRefusal(caller.refusal(error), caller.requestId)
      }
    },
  }
}

async function doEndpoint(
  { name, listed }: Card,
  input: Record<string, unknown>,
  caller: AgentCaller,
  call: ToolCall,
): Promise<ToolResult | ConsentQuestion> {
  const consented = await agreed(name, input, caller, call)
  let answered
  try {
    answered = await caller.call(name, input, consented)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'consent_required' || !call.person || !caller.question)
      throw error
    return { asks: { message: consentQuestionOf(listed, input), question: caller.question(name, input) } }
  }
  switch (answered.kind) {
    case 'json':
      return toolResult(answered.body)
    case 'none':
      return toolResult({})
    case 'stream':
      return toolResult(await collect(answered.events, answered.ended, ({ event }) => call.progress?.(event)))
    case 'bytes':
      return bytesResult(answered.bytes, urlOf(listed.endpoint, input, caller.origin))
  }
}

/** Checks for the user's approval. Throws if they declined. */
async function agreed(name: string, input: unknown, caller: AgentCaller, { person }: ToolCall): Promise<boolean> {
  if (!person?.answer || !caller.redeem) return false
  if (!person.answer.agreed) refuse('consent_required', { message: 'The user declined this call.' })
  await caller.redeem(person.answer.question, name, input)
  return true
}

function urlOf(endpoint: AnyEndpoint, input: Record<string, unknown>, origin: string): string | null {
  if (endpoint.method !== 'GET') return null
  const { path, query } = split(endpoint, input)
  return `${origin}/v1${path}${query}`
}

// ── what the three take ─────────────────────────────────────────────────────
const parameters: Record<ToolName, readonly string[]> = {
  find: ['query', 'limit'],
  describe: ['name'],
  do: ['name', 'input'],
}

function onlyKnown(given: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined)
    refuse('unknown_parameter', {
      param: unknown,
      message: `Unknown parameter \`${unknown}\`. Use ${known.map((name) => `\`${name}\``).join(' and ')}.`,
    })
}

function textOf(given: Record<string, unknown>, name: string): string {
  const value = given[name]
  if (value === undefined) return refuse('missing_parameter', { param: name, message: `\`${name}\` is required.` })
  if (typeof value !== 'string' || value.length > 1000)
    return refuse('invalid_parameter', {
      param: name,
      message: `\`${name}\` must be a string of up to 1000 characters.`,
    })
  return value
}

function limitOf({ limit = 10 }: Record<string, unknown>): number {
  if (typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= 50) return limit
  return refuse('invalid_parameter', { param: 'limit', message: '`limit` must be a whole number from 1 to 50.' })
}

/** Models often encode a nested object as a JSON string; accept it. */
function inputOf({ input = {} }: Record<string, unknown>): Record<string, unknown> {
  const value = typeof input === 'string' ? parsed(input) : input
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  return refuse('invalid_parameter', { param: 'input', message: '`input` must be an object.' })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const near = (catalogue: Catalogue, name: string): string[] =>
  catalogue
    .rank(name)
    .slice(0, 3)
    .map((card) => card.name)
