import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk, unlessRefused } from '../shared/api.ts'
import { refusal } from '../ui/calls/errors.ts'

export type Computer = Awaited<ReturnType<typeof uk.computers.get>>
export type Capability = Computer['my_capabilities'][number]
export type Pairing = Awaited<ReturnType<typeof uk.computer_pairings.create>>
export type Driver = Awaited<ReturnType<typeof uk.cloud_computers.drivers>>['rows'][number]
export type Snapshot = Awaited<ReturnType<typeof uk.computers.snapshots>>['rows'][number]
export type Operation = Awaited<ReturnType<typeof uk.operations.get>>

/** The polling interval while the page is visible. */
const PROBE_MS = 20_000

export const computersQuery = queryOptions({
  queryKey: ['computers'],
  queryFn: () => everyRow(uk.computers.list({ limit: 100 })),
})

export const computerQuery = (id: string) =>
  queryOptions({ queryKey: ['computers', id], queryFn: () => uk.computers.get({ id }) })

/** Load, memory, disk and home folder. Null: no response. */
export const probeQuery = ({ id, connection }: Pick<Computer, 'id' | 'connection'>) =>
  queryOptions({
    queryKey: ['computer-probe', id],
    queryFn: () =>
      unlessRefused(uk.computers.test_connection({ id })).catch((error: unknown) => {
        if (refusal(error)?.status === 504) return null
        throw error
      }),
    enabled: connection === 'online',
    refetchInterval: PROBE_MS,
    staleTime: PROBE_MS,
  })

export const driversQuery = queryOptions({
  queryKey: ['computer-drivers'],
  queryFn: async () => (await uk.cloud_computers.drivers({ limit: 100 })).rows,
})

/** Snapshots in all workspaces of the person, including those of deleted computers. */
export const snapshotsQuery = queryOptions({
  queryKey: ['computer-snapshots'],
  queryFn: () => everyRow(uk.cloud_computers.snapshots({ limit: 100 })),
})

export const refreshComputers = (): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['computers'] }),
    queryClient.invalidateQueries({ queryKey: ['computer-probe'] }),
  ])

const ENDED: readonly Operation['status'][] = ['succeeded', 'failed', 'cancelled', 'expired']
/** The server's long-poll timeout. */
const AWAIT_SECONDS = 25

/** Waits for a background operation. Throws its error. */
export async function ended(operationId: string, signal?: AbortSignal): Promise<Operation> {
  const more = signal === undefined ? {} : { signal }
  let operation = await uk.operations.get({ id: operationId }, more)
  while (!ENDED.includes(operation.status))
    operation = await uk.operations.await(
      { id: operationId, since_status: operation.status, timeout_seconds: AWAIT_SECONDS },
      more,
    )
  return operation
}
