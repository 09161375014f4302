/** The size that a page is drawn with. Pure. */
export interface Size {
  width: number
  height: number
}

/** US Letter in points: the size of a page until it is read. */
export const LETTER: Size = { width: 612, height: 792 }

export const ZOOMS = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4] as const
/** The zoom: a multiple of the size on paper, or as wide as there is room. */
export type Zoom = number | 'width'

/** CSS pixels in a point of paper. */
const PER_POINT = 96 / 72
/** The longest side that a page is drawn with, in CSS pixels, whatever it says of itself. */
const LONGEST = 16_000
/** The most pixels of one drawn page: 4 bytes each. */
const MOST_PIXELS = 8 << 20

/** The size as far as it makes sense: a document may say anything. */
export function sane({ width, height }: Size): Size {
  const side = (length: number): number => (Number.isFinite(length) && length > 0 ? Math.max(1, length) : 1)
  return { width: side(width), height: side(height) }
}

/** CSS pixels for a point of this page. */
export function scaleFor(page: Size, zoom: Zoom, room: number): number {
  const wished = zoom === 'width' ? Math.min(2 * PER_POINT, room / page.width) : zoom * PER_POINT
  return Math.min(wished, LONGEST / page.width, LONGEST / page.height)
}

/** Pixels of the canvas for a CSS pixel: those of the screen, or fewer where there would be too many. */
export const densityFor = (shown: Size, ofScreen: number): number =>
  Math.min(ofScreen, Math.sqrt(MOST_PIXELS / (shown.width * shown.height)))

/** The next zoom: one step nearer or farther than now. */
export function nextZoom(now: number, by: 'in' | 'out'): number {
  const steps = by === 'in' ? ZOOMS.filter((zoom) => zoom > now + 0.01) : ZOOMS.filter((zoom) => zoom < now - 0.01)
  return (by === 'in' ? steps[0] : steps.at(-1)) ?? now
}

/** The zoom that a scale amounts to. */
export const zoomOf = (scale: number): number => scale / PER_POINT
