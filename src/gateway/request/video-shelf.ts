import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'

/** A video of this surface: the operation that generates it, and its request. */
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
  /** When its file is deleted. */
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

/** Stores videos, which outlive the request that starts them; implemented by a module. */
export interface VideoShelf {
  begin(principal: Principal, ask: VideoAsk, signal: AbortSignal): Promise<ShelvedVideo>
  /** Returns null for videos of other users, and deleted or unknown ones. */
  get(principal: Principal, id: string): Promise<ShelvedVideo | null>
  list(
    principal: Principal,
    page: { after: string | null; limit: number; order: 'asc' | 'desc' },
  ): Promise<ShelvedVideo[]>
  content(
    principal: Principal,
    id: string,
  ): Promise<{ type: string; size: number; bytes: AsyncIterable<Uint8Array> } | null>
  /** Cancels a video in progress. Returns false if there is none. */
  remove(principal: Principal, id: string): Promise<boolean>
}
