import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'

export interface ShelvedVideo {
  id: Id
  model: string
  prompt: string
  seconds: number | null
  size: string | null
  status: 'queued' | 'in_progress' | 'completed' | 'failed'
  progress: number
  error: { code: string; message: string } | null
  createdAt: Date
  completedAt: Date | null
  expiresAt: Date | null
}

export interface VideoAsk {
  model: string
  prompt: string
  seconds: number | null
  size: string | null
  reference: { type: string; bytes: Buffer } | null
}

/** Implemented by a module: videos outlive the request that starts them. */
export interface VideoShelf {
  begin(principal: Principal, ask: VideoAsk, signal: AbortSignal): Promise<ShelvedVideo>
  /** Null for videos of other users, too. */
  get(principal: Principal, id: string): Promise<ShelvedVideo | null>
  list(
    principal: Principal,
    page: { after: string | null; limit: number; order: 'asc' | 'desc' },
  ): Promise<ShelvedVideo[]>
  content(
    principal: Principal,
    id: string,
  ): Promise<{ type: string; size: number; bytes: AsyncIterable<Uint8Array> } | null>
  remove(principal: Principal, id: string): Promise<boolean>
}
