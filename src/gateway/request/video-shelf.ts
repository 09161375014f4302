import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'

/** A video of this surface: the operation that makes it, and what was asked. */
export interface ShelvedVideo {
  id: Id
  model: string
  prompt: string
  seconds: number | null
  size: string | null
  status: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** 0–1. */
  progress: number
  error: { code: string; message: string } | null
  createdAt: Date
  completedAt: Date | null
  /** The time when its file is deleted. */
  expiresAt: Date | null
}

export interface VideoAsk {
  model: string
  prompt: string
  seconds: number | null
  size: string | null
  /** The first frame. */
  reference: { type: string; bytes: Buffer } | null
}

/** Videos outlive the request that begins them: an area keeps them, and this is what the surface needs of it. */
export interface VideoShelf {
  begin(principal: Principal, ask: VideoAsk, signal: AbortSignal): Promise<ShelvedVideo>
  /** Null: it is somebody else's, gone, or was never here. */
  get(principal: Principal, id: string): Promise<ShelvedVideo | null>
  list(
    principal: Principal,
    page: { after: string | null; limit: number; order: 'asc' | 'desc' },
  ): Promise<ShelvedVideo[]>
  content(
    principal: Principal,
    id: string,
  ): Promise<{ type: string; size: number; bytes: AsyncIterable<Uint8Array> } | null>
  /** False: there is none. One that is being made is cancelled. */
  remove(principal: Principal, id: string): Promise<boolean>
}
