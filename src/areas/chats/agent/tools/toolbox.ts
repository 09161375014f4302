import type { Context } from '#engine/context.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'
import type { Scope } from '#kernel/scopes.ts'
import type { Result } from '../../messages/tool-calls.ts'

/** What a call of the registry's tools leads to. */
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
