import type { NextConfig } from 'next';

const config: NextConfig = {
  distDir: 'dist',
  turbopack: { root: import.meta.dirname },
};

export default config;
