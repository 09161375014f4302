export interface Size {
  width: number
  height: number
}

/** US Letter in points, assumed until a page is read. */
export const LETTER: Size = { width: 612, height: 792 }

export const ZOOMS = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4] as const
/** The zoom: a multiple of the paper size, or fit to width. */
export type Zoom = number | 'width'

const PER_POINT = 96 / 72
/** The maximum side length of a page in CSS pixels. */
const LONGEST = 16_000
/** The pixel limit per page, at 4 bytes each. */
const MAX_PIXELS = 8 << 20

/** Clamps the size, since documents can claim anything. */
export function sane({ width, height }: Size): Size {
  const side = (length: number): number => (Number.isFinite(length) && length > 0 ? Math.max(1, length) : 1)
  return { width: side(width), height: side(height) }
}

export function scaleFor(page: Size, zoom: Zoom, room: number): number {
  const wanted = zoom === 'width' ? Math.min(2 * PER_POINT, room / page.width) : zoom * PER_POINT
  return Math.min(wanted, LONGEST / page.width, LONGEST / page.height)
}

/** Canvas pixels per CSS pixel: the screen's density, reduced to stay under the limit. */
export const densityFor = (shown: Size, ofScreen: number): number =>
  Math.min(ofScreen, Math.sqrt(MAX_PIXELS / (shown.width * shown.height)))

export function nextZoom(now: number, by: 'in' | 'out'): number {
  const steps = by === 'in' ? ZOOMS.filter((zoom) => zoom > now + 0.01) : ZOOMS.filter((zoom) => zoom < now - 0.01)
  return (by === 'in' ? steps[0] : steps.at(-1)) ?? now
}

export const zoomOf = (scale: number): number => scale / PER_POINT
