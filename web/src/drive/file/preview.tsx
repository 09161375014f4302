import { Suspense, lazy, useState } from 'react'
import { visible } from '../../ui/text/visible.ts'
import { shownAs } from '../list/kinds.ts'
import { bytesAt } from '../queries.ts'
import type { DriveFile, FilePlace } from '../../shared/drive/files.ts'
import { DocumentText } from './document-text.tsx'
import { NoPreview } from './no-preview.tsx'
import { TextFile } from './text-file.tsx'

const PdfView = lazy(() => import('./pdf/pdf-view.tsx').then(({ PdfView }) => ({ default: PdfView })))

/** Previews a file without executing any of it. */
export function Preview({ place }: { place: FilePlace }) {
  const { file } = place
  switch (shownAs(file)) {
    case 'picture':
    case 'drawing':
      return <Picture file={file} />
    case 'sound':
      return (
        <div className="flex flex-1 items-center justify-center p-6">
          <audio key={file.sha256} controls preload="metadata" src={bytesAt(file.id)} className="w-full max-w-xl" />
        </div>
      )
    case 'video':
      return (
        <div className="flex min-h-0 flex-1 items-center justify-center bg-sunk p-2">
          <video
            key={file.sha256}
            controls
            preload="metadata"
            src={bytesAt(file.id)}
            className="max-h-full max-w-full"
          />
        </div>
      )
    case 'markdown':
    case 'text':
      return <TextFile key={file.id} place={place} />
    case 'office':
      return <DocumentText file={file} />
    case 'pdf':
      return <PdfFile key={file.id} file={file} />
    default:
      return <NoPreview file={file} />
  }
}

function PdfFile({ file }: { file: DriveFile }) {
  const [words, setWords] = useState(false)
  if (words)
    return (
      <DocumentText
        file={file}
        why={
          <>
            Text only, without formatting.{' '}
            <button type="button" className="link" onClick={() => setWords(false)}>
              Show pages
            </button>
          </>
        }
      />
    )
  return (
    <Suspense>
      <PdfView file={file} onWords={() => setWords(true)} />
    </Suspense>
  )
}

/** An image. An `img` element renders SVG without running scripts or loading external resources. */
function Picture({ file }: { file: DriveFile }) {
  return (
    <div className="flex min-h-0 flex-1 items-center justify-center overflow-auto bg-sunk p-4">
      <img
        src={`${bytesAt(file.id)}#${file.content_version}`}
        alt={visible(file.name)}
        className="max-h-full max-w-full bg-[conic-gradient(#e4e4e4_25%,#fff_0_50%,#e4e4e4_0_75%,#fff_0)] bg-size-[1.25rem_1.25rem] object-contain"
      />
    </div>
  )
}
