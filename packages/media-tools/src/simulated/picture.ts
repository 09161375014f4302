import type { Sharp } from 'sharp'
import { labelOf } from './label.ts'
import { numbersOf } from './seed.ts'

export interface SimulatedPicture {
  width: number
  height: number
  format: 'png' | 'jpeg' | 'webp'
  transparent: boolean
  /** Equal words give equal images. */
  words: string
}

export const LONGEST_SIDE = 4_096

export async function drawPicture({ format, ...picture }: SimulatedPicture): Promise<Uint8Array> {
  const image = await render(picture)
  if (format === 'png') return image.png({ compressionLevel: 6 }).toBuffer()
  return format === 'jpeg' ? image.jpeg({ quality: 85 }).toBuffer() : image.webp({ quality: 85, effort: 2 }).toBuffer()
}

export async function samplesOf(picture: Omit<SimulatedPicture, 'format' | 'transparent'>): Promise<Uint8Array> {
  return (await render({ ...picture, transparent: false })).removeAlpha().raw().toBuffer()
}

async function render(picture: Omit<SimulatedPicture, 'format'>): Promise<Sharp> {
  const { default: sharp } = await import('sharp')
  return sharp(Buffer.from(sceneOf(picture)))
}

export function sceneOf({ width, height, transparent, words }: Omit<SimulatedPicture, 'format'>): string {
  const next = numbersOf(words)
  const hue = Math.floor(next() * 360)
  const colour = (turn: number, light: number): string => `hsl(${(hue + turn) % 360},55%,${light}%)`
  const sky = transparent
    ? ''
    : `<defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="${colour(0, 70)}"/><stop offset="1" stop-color="${colour(40, 90)}"/></linearGradient></defs><rect width="${width}" height="${height}" fill="url(#sky)"/>`
  const sun = `<circle cx="${num(next() * width)}" cy="${num((0.1 + next() * 0.3) * height)}" r="${num((0.06 + next() * 0.08) * Math.min(width, height))}" fill="${colour(60, 80)}"/>`
  const hills = [0, 1, 2].map((depth) => {
    const base = (0.5 + depth * 0.15) * height
    const points = Array.from({ length: 6 }, (_, i) => `${num((i / 5) * width)} ${num(base - next() * 0.2 * height)}`)
    return `<path d="M0 ${height} L${points.join(' L')} L${width} ${height} Z" fill="${colour(90 + depth * 25, 55 - depth * 12)}"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${sky}${sun}${hills.join('')}${labelOf(width, height)}</svg>`
}

const num = (value: number): string => value.toFixed(1)
