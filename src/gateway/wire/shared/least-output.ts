import type { Shape } from '../../model/offer.ts'

/** The fewest output tokens that a shape takes: OpenAI's Responses API refuses to be bounded below 16 (compat.md, part 8). */
const least: Partial<Record<Shape, number>> = { 'openai-responses': 16 }

/** A limit as the shape takes it. None at all (0) asks for nothing, and stays. */
export const raisedLimit = (limit: number, shape: Shape): number =>
  limit > 0 ? Math.max(limit, least[shape] ?? 0) : limit
