import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../api.ts'

export const waysQuery = queryOptions({
  queryKey: ['ways-in'],
  queryFn: () => uk.ways_in.list(),
  staleTime: 300_000,
})

export const passkeysQuery = queryOptions({
  queryKey: ['passkeys'],
  queryFn: () => everyRow(uk.passkeys.list({ limit: 100 })),
})
export type Passkey = Awaited<ReturnType<typeof passkeysQuery.queryFn & {}>>[number]

export const identitiesQuery = queryOptions({
  queryKey: ['identities'],
  queryFn: () => everyRow(uk.identities.list({ limit: 100 })),
})
