import type { Shape } from '../../model/offer.ts'

/** Minimum output tokens per shape. OpenAI's Responses API rejects limits below 16 (compat.md, part 8). */
const least: Partial<Record<Shape, number>> = { 'openai-responses': 16 }

/** 0 means no output and stays. */
export const raisedLimit = (limit: number, shape: Shape): number =>
  limit > 0 ? Math.max(limit, least[shape] ?? 0) : limit
