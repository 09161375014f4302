import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../shared/api.ts'

export const passkeysQuery = queryOptions({
  queryKey: ['passkeys'],
  queryFn: () => everyRow(uk.passkeys.list({ limit: 100 })),
})
export type Passkey = Awaited<ReturnType<typeof passkeysQuery.queryFn & {}>>[number]

export const identitiesQuery = queryOptions({
  queryKey: ['identities'],
  queryFn: () => everyRow(uk.identities.list({ limit: 100 })),
})
