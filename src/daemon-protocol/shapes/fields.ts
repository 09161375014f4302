import { z } from 'zod'

/** Bytes from the start of a channel. */
export const offset = z.number().int().min(0)
export const key = z.string().min(1).max(64)
/** A path as defined by `core/files/file-path.ts`. */
export const path = z.string().min(1).max(12_400)
export const cols = z.number().int().min(1).max(1_000)
export const rows = z.number().int().min(1).max(1_000)
export const env = z.record(z.string().regex(/^[^=\0]+$/), z.string())
export const signal = z.string().regex(/^SIG[A-Z0-9]+$/)
export const time = z.iso.datetime()
/** `exit_code` is null after a signal or a timeout. */
export const ended = { exit_code: z.number().int().nullable(), signal: signal.nullable() }
