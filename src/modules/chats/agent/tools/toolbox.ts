import type { ToolTarget } from '#core/answers.ts'
import type { Context } from '#infra/context.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'
import type { Result } from '../../messages/tool-calls.ts'

/** The registry as tools of a model. The faces have it; app.ts joins the two. */
export interface Toolbox {
  offer(names: readonly string[]): Tool[]
  reach(name: string, given: Record<string, unknown>): ToolTarget | null
  /** Calls a tool with the rights of `ctx`, until its signal fires. A refusal is an answer with `is_error`. */
  call(ctx: Context, name: string, given: Record<string, unknown>): Promise<Result>
}
