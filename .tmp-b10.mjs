import net from 'node:net'; import { createServer } from 'node:http';
import { redisStore } from 'comporta/redis'; import { storeListener } from 'comporta/store-server'; import { memoryStore, createLimiter, slidingWindow } from 'comporta';
import { httpStore } from 'comporta/http-store'; import { comportaStorage } from 'comporta/nest-throttler';
const sleep=ms=>new Promise(r=>setTimeout(r,ms)); const token='test-token-0123456789';
let delay=0; const prox=net.createServer(c=>{const u=net.connect(27411,'127.0.0.1');c.pipe(u);u.on('data',d=>setTimeout(()=>c.write(d),delay));u.on('error',()=>{});c.on('error',()=>{});c.on('close',()=>u.destroy())}).listen(27431,'127.0.0.1'); await sleep(50);
console.warn=()=>{};
const st=redisStore('redis://127.0.0.1:27431'); await st.ready(5000);
const srv=createServer(storeListener(st,{token})).listen(27432,'127.0.0.1'); await sleep(50);
const hs=httpStore('http://127.0.0.1:27432',{token}); await hs.ready(5000);
const mk=(policy,timeoutMs)=>createLimiter({policy,limits:slidingWindow({limit:1e5,window:'1m'}),store:hs,timeoutMs,onStoreFailure:'closed'});
const legit=mk('legit',100), eager=mk('eager',60000);
delay=30;
const t=async(l,n,o)=>{const r={};for(let i=0;i<n;i++){const d=await l.consume('s'+i,o);const k=d.degraded?.cause??'ok';r[k]=(r[k]??0)+1}return JSON.stringify(r)};
console.log('redis 30 ms away, legit timeout 100:',await t(legit,20));
// a) one impatient limit
for(let i=0;i<20;i++) await eager.consume('e',{timeoutMs:20});
console.log('after impatient 20 ms callers:',await t(legit,20));
await srv.closeAllConnections();
// b) fresh service: the impatient come first with 17 different limits
const srv2=createServer(storeListener(redisStore('redis://127.0.0.1:27431'),{token})).listen(27433,'127.0.0.1'); await sleep(300);
const hs2=httpStore('http://127.0.0.1:27433',{token}); await hs2.ready(5000);
const mk2=(p,timeoutMs)=>createLimiter({policy:p,limits:slidingWindow({limit:1e5,window:'1m'}),store:hs2,timeoutMs,onStoreFailure:'closed'});
const eagers=Array.from({length:20},(_,i)=>mk2('e'+i,3+i*1)); for(const e of eagers) await e.consume('x'); 
const l2=mk2('legit',100); console.log('fresh service, after callers with 20 limits of 3..22 ms:',await t(l2,10));
const t0=Date.now();const [,res]=await Promise.all([(async()=>{while(Date.now()-t0<3000){for(const ms of [18,19,20,21,22]) await Promise.all(eagers.slice(14).map(e=>e.consume('x')));}})(),t(l2,60)]);
console.log('while those go on, legit 100 ms:',res);
const direct=createLimiter({policy:'legit',limits:slidingWindow({limit:1e5,window:'1m'}),store:st,timeoutMs:100,onStoreFailure:'closed'});console.log('direct to the same redis:',await t(direct,20));
delay=0;
// 12
const ns=comportaStorage({store:redisStore('redis://127.0.0.1:27411'),name:'many',timeoutMs:3000}); await sleep(200);
const rs=await Promise.allSettled(Array.from({length:3000},(_,i)=>ns.increment('k'+i,60000,i+1,0,'d')));
console.log('3000 distinct limits',rs.filter(r=>r.status==='fulfilled').length,rs.find(r=>r.status==='rejected')?.reason?.message);
process.exit();
