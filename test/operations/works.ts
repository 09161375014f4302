/** An area that only tests serve: work of several kinds for the background. */
import { z } from 'zod'
import { Operation } from '#modules/operations/contract.ts'
import { type OperationKind, defineOperation, startOperation } from '#modules/operations/service.ts'
import { implement } from '#infra/context.ts'
import { inWorkspace } from '#core/access.ts'
import { area, endpoint, operation, workspaceId } from '#core/contract.ts'

export interface Work {
  how: string
}

export const worksService = (kinds: readonly OperationKind[]) =>
  implement(
    area(
      'works',
      { title: 'Works', summary: 'For tests.' },
      {
        start: endpoint('POST /works', {
          summary: 'Start work',
          access: inWorkspace('operation:write'),
          body: { how: z.string(), workspace_id: workspaceId },
          reply: operation(Operation),
        }),
      },
    ),
    {
      start: (ctx, { how }) =>
        startOperation(
          ctx,
          kinds.find(({ name }) => name === how)!,
          { how },
        ),
    },
  )

/** Never ends by itself; one may be begun again after a crash, the other not. */
export const endless = (begun: (how: string) => void): OperationKind[] =>
  [true, false].map((repeatable) =>
    defineOperation(
      repeatable ? 'works.again' : 'works.once',
      ({ signal }, { how }: Work) => {
        begun(how)
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      },
      { repeatable },
    ),
  )
