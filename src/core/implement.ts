import type { Area, Input, Output } from './contract.ts'
import type { CallContext, Finder } from './context.ts'

export type Handlers<A, C> =
  A extends Area<infer E>
    ? { [K in keyof E]: (ctx: C, input: Input<E[K]>) => Output<E[K]> | Promise<Output<E[K]>> }
    : never

export interface Service<C extends CallContext = CallContext> {
  area: Area
  // Variance: each handler takes its specific input.
  handlers: Record<string, (ctx: C, input: any) => unknown>
  finders: readonly Finder<C, any>[]
}

/** Joins a contract to its handlers. Missing, extra, or mistyped handlers are compile errors. */
export const implementWith =
  <C extends CallContext>() =>
  <A extends Area>(area: A, handlers: Handlers<A, C>, finders: readonly Finder<C, any>[] = []): Service<C> => ({
    area,
    handlers: handlers as Service<C>['handlers'],
    finders,
  })
