//! The list of all entries, in the order in which they are shown: the write-ups' five, then by layer.

use crate::knob::Knob;

mod audit;
mod base_slice_ns;
mod boot_idle;
mod boot_isolcpus;
mod boot_mitigations;
mod boot_nohz_full;
mod boot_preempt;
mod boot_rcu_nocbs;
mod boot_skew_tick;
mod busy_poll;
mod busy_read;
mod cfs_bandwidth_slice;
mod coalesce;
mod conntrack;
mod cpu_affinity;
mod cpu_boost;
mod cpu_dma_latency;
mod cpu_epp;
mod cpu_fifo;
mod cpu_governor;
mod cpu_slice;
mod default_qdisc;
mod dev_gro_flush_timeout;
mod dev_mtu;
mod dev_napi_defer_hard_irqs;
mod dev_rps_cpus;
mod dev_rps_flow_cnt;
mod dev_threaded;
mod dev_weight;
mod dev_xps_cpus;
mod gro_normal_batch;
mod guest_halt_poll_ns;
mod high_order_alloc_disable;
mod ip_early_demux;
mod ip_local_port_range;
mod ip_local_reserved_ports;
mod irq_affinity;
mod irq_suspend_timeout;
mod max_dgram_qlen;
mod max_skb_frags;
mod mem_pcpu_rsv;
mod netdev_budget;
mod netdev_budget_usecs;
mod netdev_max_backlog;
mod nofile;
mod nr_hugepages;
mod numa_balancing;
mod offloads;
mod optmem_max;
mod packet_taps;
mod register_napi;
mod reuseport_steering;
mod rings;
mod rps_sock_flow_entries;
mod rss;
mod sched_autogroup;
mod sched_ext;
mod sched_rt_runtime_us;
mod seccomp;
mod send_zc;
mod skb_defer_max;
mod so_busy_poll;
mod so_rcvbuf;
mod somaxconn;
mod tcp_abort_on_overflow;
mod tcp_autocorking;
mod tcp_backlog_ack_defer;
mod tcp_congestion_control;
mod tcp_defer_accept;
mod tcp_early_demux;
mod tcp_early_retrans;
mod tcp_fastopen;
mod tcp_fin_timeout;
mod tcp_limit_output_bytes;
mod tcp_low_latency;
mod tcp_max_syn_backlog;
mod tcp_max_tw_buckets;
mod tcp_mem;
mod tcp_migrate_req;
mod tcp_min_tso_segs;
mod tcp_no_metrics_save;
mod tcp_nodelay;
mod tcp_notsent_lowat;
mod tcp_pingpong_thresh;
mod tcp_quickack;
mod tcp_rmem;
mod tcp_rto_min_us;
mod tcp_sack;
mod tcp_slow_start_after_idle;
mod tcp_syncookies;
mod tcp_timestamps;
mod tcp_tw_recycle;
mod tcp_tw_reuse;
mod tcp_tw_reuse_delay;
mod tcp_wmem;
mod timer_slack;
mod transparent_hugepage;

/// Every knob that is known.
pub static ALL: &[&Knob] = &[
    &nofile::KNOB,
    &tcp_timestamps::KNOB,
    &tcp_tw_recycle::KNOB,
    &tcp_tw_reuse::KNOB,
    &max_dgram_qlen::KNOB,
    &tcp_tw_reuse_delay::KNOB,
    &somaxconn::KNOB,
    &tcp_max_syn_backlog::KNOB,
    &tcp_syncookies::KNOB,
    &tcp_abort_on_overflow::KNOB,
    &ip_local_port_range::KNOB,
    &ip_local_reserved_ports::KNOB,
    &tcp_fin_timeout::KNOB,
    &tcp_max_tw_buckets::KNOB,
    &tcp_fastopen::KNOB,
    &tcp_defer_accept::KNOB,
    &tcp_migrate_req::KNOB,
    &tcp_nodelay::KNOB,
    &tcp_quickack::KNOB,
    &tcp_pingpong_thresh::KNOB,
    &tcp_autocorking::KNOB,
    &tcp_limit_output_bytes::KNOB,
    &tcp_notsent_lowat::KNOB,
    &tcp_min_tso_segs::KNOB,
    &tcp_slow_start_after_idle::KNOB,
    &tcp_no_metrics_save::KNOB,
    &tcp_congestion_control::KNOB,
    &tcp_sack::KNOB,
    &tcp_early_retrans::KNOB,
    &default_qdisc::KNOB,
    &tcp_rmem::KNOB,
    &tcp_wmem::KNOB,
    &so_rcvbuf::KNOB,
    &tcp_mem::KNOB,
    &optmem_max::KNOB,
    &tcp_early_demux::KNOB,
    &ip_early_demux::KNOB,
    &tcp_backlog_ack_defer::KNOB,
    &tcp_rto_min_us::KNOB,
    &tcp_low_latency::KNOB,
    &busy_poll::KNOB,
    &busy_read::KNOB,
    &so_busy_poll::KNOB,
    &register_napi::KNOB,
    &dev_napi_defer_hard_irqs::KNOB,
    &dev_gro_flush_timeout::KNOB,
    &irq_suspend_timeout::KNOB,
    &dev_threaded::KNOB,
    &offloads::KNOB,
    &dev_mtu::KNOB,
    &dev_rps_cpus::KNOB,
    &dev_rps_flow_cnt::KNOB,
    &rps_sock_flow_entries::KNOB,
    &dev_xps_cpus::KNOB,
    &irq_affinity::KNOB,
    &rss::KNOB,
    &rings::KNOB,
    &coalesce::KNOB,
    &reuseport_steering::KNOB,
    &netdev_budget::KNOB,
    &netdev_budget_usecs::KNOB,
    &netdev_max_backlog::KNOB,
    &dev_weight::KNOB,
    &gro_normal_batch::KNOB,
    &skb_defer_max::KNOB,
    &high_order_alloc_disable::KNOB,
    &mem_pcpu_rsv::KNOB,
    &max_skb_frags::KNOB,
    &conntrack::KNOB,
    &packet_taps::KNOB,
    &cpu_affinity::KNOB,
    &cpu_fifo::KNOB,
    &sched_rt_runtime_us::KNOB,
    &cpu_slice::KNOB,
    &base_slice_ns::KNOB,
    &sched_ext::KNOB,
    &numa_balancing::KNOB,
    &sched_autogroup::KNOB,
    &cfs_bandwidth_slice::KNOB,
    &timer_slack::KNOB,
    &cpu_dma_latency::KNOB,
    &guest_halt_poll_ns::KNOB,
    &cpu_governor::KNOB,
    &cpu_epp::KNOB,
    &cpu_boost::KNOB,
    &boot_nohz_full::KNOB,
    &boot_isolcpus::KNOB,
    &boot_rcu_nocbs::KNOB,
    &boot_skew_tick::KNOB,
    &boot_idle::KNOB,
    &boot_preempt::KNOB,
    &boot_mitigations::KNOB,
    &seccomp::KNOB,
    &audit::KNOB,
    &transparent_hugepage::KNOB,
    &nr_hugepages::KNOB,
    &send_zc::KNOB,
];
