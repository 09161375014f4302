import type { uk } from '../api.ts'

export type Chat = Awaited<ReturnType<typeof uk.chats.get>>
export type Message = Awaited<ReturnType<typeof uk.chats.messages>>['rows'][number]
export type Run = Awaited<ReturnType<typeof uk.chats.runs>>['rows'][number]
type Streamed<T> = T extends AsyncIterable<infer E> ? E : never
export type RunEvent = Streamed<Awaited<ReturnType<typeof uk.chats.events>>>
