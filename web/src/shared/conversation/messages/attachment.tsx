import { Icon } from '../../../ui/icons.tsx'
import { targetOf } from '../../../ui/markdown/links.ts'
import { InlinePicture } from './inline-picture.tsx'
import type { Message } from '../queries.ts'

type Media = Extract<Message['content'][number], { type: 'image' | 'file' }>

/** An attached image or file. Images in the drive are shown; external ones are never loaded. */
export function Attachment({ part }: { part: Media }) {
  const { source } = part
  if (source.kind === 'file') {
    const href = `/v1/drive/files/${source.file_id}`
    return part.type === 'image' ? (
      <a href={href} className="block w-fit">
        <img src={href} alt={source.name} loading="lazy" className="max-h-80 max-w-full border border-line" />
      </a>
    ) : (
      <Chip name={source.name} href={href} />
    )
  }
  if (source.kind === 'url') {
    const target = targetOf(source.url)
    return <Chip name={source.url} {...(target && { href: target.href })} />
  }
  if (part.type === 'image') return <InlinePicture type={source.media_type} data={source.data} />
  return <Chip name={part.type === 'file' && part.name !== null ? part.name : `File (${source.media_type})`} />
}

function Chip({ name, href }: { name: string; href?: string }) {
  const look = 'inline-flex max-w-full items-center gap-2 border border-line bg-sheet px-2.5 py-1 text-sm'
  const inside = (
    <>
      <Icon name="book" />
      <span className="truncate">{name}</span>
    </>
  )
  if (href === undefined) return <span className={look}>{inside}</span>
  return (
    <a className={`${look} hover:border-ink`} href={href} target="_blank" rel="noopener noreferrer nofollow">
      {inside}
    </a>
  )
}
