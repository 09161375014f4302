/** What an agent may use in a run, and how a call of it is judged. */
import type { Context } from '#engine/context.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'
import type { Scope } from '#kernel/scopes.ts'
import { storable, storableJson } from '#kernel/text/storable.ts'
import type { Part } from './parts.ts'

export interface Reached {
  /** `find`, `describe`, `do`, or an endpoint's name. */
  tool: string
  /** The endpoint that is called in the end. */
  endpoint: string | null
  /** To do it twice is as good as once. */
  repeatable: boolean
  /** A person has to agree to each call of it, who must be allowed this much; null: its policy alone decides. */
  consent: { scope: Scope | null } | null
}

/** The registry as tools of a model. The faces have it; app.ts joins the two. */
export interface Toolbox {
  offer(names: readonly string[]): Tool[]
  reach(name: string, given: Record<string, unknown>): Reached | null
  /** In the rights of `ctx`, until its signal fires. What is refused is an answer with `is_error`. */
  call(ctx: Context, name: string, given: Record<string, unknown>): Promise<Result>
}
export interface Result {
  output: unknown
  is_error: boolean
}

declare module '#engine/context.ts' {
  interface Engine {
    toolbox: Toolbox
  }
}

export type Policy = 'allow' | 'ask' | 'deny'
export type AgentTools = readonly { name: string; policy: Policy }[]
export type Call = Extract<Part, { type: 'tool_call' }>
/** A call without its result, and which part of the message it is: vendors use an id twice. */
export interface OpenCall {
  index: number
  call: Call
}

/** Those of a message that have no result yet. */
export function openCalls(parts: readonly Part[]): OpenCall[] {
  const open: OpenCall[] = []
  for (const [index, part] of parts.entries()) {
    if (part.type === 'tool_call') open.push({ index, call: part })
    if (part.type !== 'tool_result') continue
    const at = open.findIndex(({ call }) => call.id === part.tool_call_id)
    if (at !== -1) open.splice(at, 1)
  }
  return open
}

const STRICT: readonly Policy[] = ['allow', 'ask', 'deny']
const plain = (name: string): string => name.replace('_', '.')

/** What would loosen an agent's own reins: asked for where it is not named, and what a person has to decide is never its own. */
const REINS: Readonly<Record<string, Policy>> = {
  'agents.create': 'ask',
  'agents.update': 'ask',
  'chats.update': 'ask',
  'workspaces.update': 'ask',
  'automations.create': 'ask',
  'automations.update': 'ask',
  'automations.fire': 'ask',
  'automations.test_fire': 'ask',
  'automations.retry': 'ask',
  // What these begin would stand below no run: outside its reins, its budgets and its depth.
  'chats.retry': 'deny',
  'chats.start_goal': 'deny',
  'chats.resume_goal': 'deny',
  'chats.actions': 'deny',
}

/** The strictest that holds: what is denied by name is not to be had through `do`. Null: not a tool of this agent. */
export function policyOf(tools: AgentTools, { tool, endpoint }: Pick<Reached, 'tool' | 'endpoint'>): Policy | null {
  const named = (name: string) => tools.find((one) => one.name === name || plain(one.name) === name)
  const own = named(tool)
  if (own === undefined) return null
  const rein = endpoint === null ? undefined : REINS[endpoint]
  const inner = tool === 'do' && endpoint !== null ? (named(endpoint)?.policy ?? rein) : undefined
  const held = [own.policy, inner ?? 'allow', rein === 'deny' ? rein : 'allow'] as const
  return strictest(...held)
}

export const strictest = (...policies: readonly Policy[]): Policy =>
  STRICT[Math.max(...policies.map((policy) => STRICT.indexOf(policy)))]!

/** How an agent is held where it reaches the same, by whatever way. Null: it does not. */
export function limitOf(tools: AgentTools, { tool, endpoint }: Pick<Reached, 'tool' | 'endpoint'>): Policy | null {
  const direct = policyOf(tools, { tool: endpoint ?? tool, endpoint })
  if (endpoint === null || direct !== null) return direct
  return policyOf(tools, { tool: 'do', endpoint })
}

/** What the model wrote as arguments, as the run's columns keep it; null where that is no JSON object. */
export function argumentsOf({ arguments: words }: Call): Record<string, unknown> | null {
  try {
    const given: unknown = words.trim() === '' ? {} : storableJson(words)
    return typeof given === 'object' && given !== null && !Array.isArray(given)
      ? (given as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

/** Characters of a result that a model reads. */
const MOST_OUTPUT = 64_000

/** A result as it is stored and told: bounded, and only what a column holds. */
export function bounded({ output, is_error }: Result): Result {
  const json = JSON.stringify(output ?? null)
  if (json.length <= MOST_OUTPUT) return { output: storableJson(json), is_error }
  const text = storable(json.slice(0, MOST_OUTPUT).toWellFormed())
  return {
    output: {
      truncated: true,
      message: `The result has ${json.length} characters; these are the first ${MOST_OUTPUT}. Ask for less.`,
      text,
    },
    is_error,
  }
}

export const mistake = (message: string): Result => ({ output: { error: { message } }, is_error: true })
