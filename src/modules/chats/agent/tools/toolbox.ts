import type { ToolTarget } from '#core/answers.ts'
import type { Context } from '#infra/context.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'
import type { Result } from '../../messages/tool-calls.ts'

export interface Toolbox {
  offer(names: readonly string[]): Tool[]
  reach(name: string, args: Record<string, unknown>): ToolTarget | null
  /** Calls a tool with the permissions of `ctx`. A refusal becomes a result with `is_error`. */
  call(ctx: Context, name: string, args: Record<string, unknown>): Promise<Result>
}
